import Tensors

/// Lays out GGUF bytes, well-formed or not: what a test wants, not what a writer would allow.
struct GGUFBuilder {
  struct Tensor {
    var name: [UInt8]
    /// Extents, fastest first, as stored.
    var extents: [UInt64]
    var type: UInt32
    var offset: UInt64
    var data: [UInt8]
  }

  var version: UInt32 = 3
  var keys: [[UInt8]] = []
  var keyCount: UInt64?
  var tensors: [Tensor] = []
  var tensorCount: UInt64?
  var alignment = 32

  static func little<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  static func string(_ bytes: some Collection<UInt8>) -> [UInt8] { little(UInt64(bytes.count)) + Array(bytes) }

  mutating func addKey(_ key: String, type: UInt32, _ value: [UInt8]) {
    keys.append(Self.string(key.utf8) + Self.little(type) + value)
  }

  mutating func add(_ key: String, _ value: UInt32) { addKey(key, type: 4, Self.little(value)) }

  mutating func add(_ key: String, _ value: String) { addKey(key, type: 8, Self.string(value.utf8)) }

  /// Adds single-precision values at the next aligned offset.
  mutating func add(_ name: String, _ values: [Float], extents: [UInt64]) {
    add(name, bytes: values.flatMap { Self.little($0.bitPattern) }, type: 0, extents: extents)
  }

  mutating func add(_ name: String, bytes: [UInt8], type: UInt32, extents: [UInt64]) {
    let end = tensors.last.map { Int($0.offset) + $0.data.count } ?? 0
    let offset = (end + alignment - 1) / alignment * alignment
    tensors.append(Tensor(name: Array(name.utf8), extents: extents, type: type, offset: UInt64(offset), data: bytes))
  }

  var header: [UInt8] {
    var bytes = Array("GGUF".utf8) + Self.little(version)
    bytes += Self.little(tensorCount ?? UInt64(tensors.count)) + Self.little(keyCount ?? UInt64(keys.count))
    bytes += keys.joined()
    for tensor in tensors {
      bytes += Self.string(tensor.name) + Self.little(UInt32(tensor.extents.count))
      bytes += tensor.extents.flatMap { Self.little($0) } + Self.little(tensor.type) + Self.little(tensor.offset)
    }
    return bytes
  }

  var bytes: [UInt8] {
    var bytes = header
    bytes += [UInt8](repeating: 0, count: (alignment - bytes.count % alignment) % alignment)
    let start = bytes.count
    for tensor in tensors where tensor.offset < 1 << 20 {
      let needed = start + Int(tensor.offset) + tensor.data.count
      if bytes.count < needed { bytes += [UInt8](repeating: 0, count: needed - bytes.count) }
      bytes.replaceSubrange((start + Int(tensor.offset))..<needed, with: tensor.data)
    }
    return bytes
  }
}
