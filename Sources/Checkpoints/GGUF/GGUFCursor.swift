import Tensors

/// Reads little-endian GGUF fields from a buffer, never past its end.
struct GGUFCursor {
  /// The metadata types of GGUF.
  enum ValueType: UInt32 {
    case uint8, int8, uint16, int16, uint32, int32, float32, bool, string, array, uint64, int64, float64

    /// The fewest bytes a value takes.
    var minimumBytes: Int {
      switch self {
      case .uint8, .int8, .bool: 1
      case .uint16, .int16: 2
      case .uint32, .int32, .float32: 4
      case .uint64, .int64, .float64, .string: 8
      case .array: 12
      }
    }
  }

  private static let longestArray = 1 << 24
  private static let deepestArray = 4
  let file: String
  let bytes: UnsafeRawBufferPointer
  private(set) var position = 0

  init(file: String, bytes: UnsafeRawBufferPointer) {
    self.file = file
    self.bytes = bytes
  }

  var remaining: Int { bytes.count - position }

  func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: file, message) }

  mutating func read<Value: BitwiseCopyable>(_ type: Value.Type, _ what: @autoclosure () -> String) throws(CheckpointError)
    -> Value
  {
    guard remaining >= MemoryLayout<Value>.size else {
      throw invalid("\(what()): expected \(MemoryLayout<Value>.size) bytes at \(position), found the end; the file is truncated")
    }
    defer { position += MemoryLayout<Value>.size }
    return bytes.loadUnaligned(fromByteOffset: position, as: type)
  }

  /// A count of things that take at least `minimumBytes` each: more than fit into the rest of the file is refused.
  mutating func count(of minimumBytes: Int, _ what: @autoclosure () -> String) throws(CheckpointError) -> Int {
    let count = UInt64(littleEndian: try read(UInt64.self, what()))
    guard count <= UInt64(remaining / minimumBytes) else {
      throw invalid("\(what()): \(count) don't fit the remaining \(remaining) bytes; the file is truncated or damaged")
    }
    return Int(count)
  }

  mutating func string(_ what: @autoclosure () -> String) throws(CheckpointError) -> String {
    let length = try count(of: 1, what() + " (length)")
    guard let text = String(validating: bytes[position..<(position + length)], as: UTF8.self) else {
      throw invalid("\(what()) at byte \(position): not valid UTF-8; the file is damaged")
    }
    position += length
    return text
  }

  private mutating func type(_ key: String) throws(CheckpointError) -> ValueType {
    let raw = UInt32(littleEndian: try read(UInt32.self, "key '\(key)' (type)"))
    guard let type = ValueType(rawValue: raw) else {
      throw invalid("key '\(key)': \(raw) is no metadata type (known: 0 to 12); the file is damaged")
    }
    return type
  }

  mutating func value(_ key: String) throws(CheckpointError) -> GGUFValue {
    let type = try type(key)
    switch type {
    case .bool: return .bool(try bool(key))
    case .string: return .string(try string("key '\(key)'"))
    case .array: return .array(try array(key, depth: 0))
    case .float32, .float64: return .number(try number(type, key))
    case .uint64:
      let value = UInt64(littleEndian: try read(UInt64.self, key))
      return Int(exactly: value).map { .integer($0) } ?? .unsigned(value)
    default: return .integer(try integer(type, key))
    }
  }

  private mutating func bool(_ key: String) throws(CheckpointError) -> Bool {
    let raw = try read(UInt8.self, "key '\(key)'")
    guard raw <= 1 else { throw invalid("key '\(key)': a boolean is 0 or 1, found \(raw); the file is damaged") }
    return raw == 1
  }

  private mutating func number(_ type: ValueType, _ key: String) throws(CheckpointError) -> Double {
    type == .float32
      ? Double(Float(bitPattern: UInt32(littleEndian: try read(UInt32.self, "key '\(key)'"))))
      : Double(bitPattern: UInt64(littleEndian: try read(UInt64.self, "key '\(key)'")))
  }

  private mutating func integer(_ type: ValueType, _ key: String) throws(CheckpointError) -> Int {
    switch type {
    case .uint8: return Int(try read(UInt8.self, "key '\(key)'"))
    case .int8: return Int(try read(Int8.self, "key '\(key)'"))
    case .uint16: return Int(UInt16(littleEndian: try read(UInt16.self, "key '\(key)'")))
    case .int16: return Int(Int16(littleEndian: try read(Int16.self, "key '\(key)'")))
    case .uint32: return Int(UInt32(littleEndian: try read(UInt32.self, "key '\(key)'")))
    case .int32: return Int(Int32(littleEndian: try read(Int32.self, "key '\(key)'")))
    case .uint64:
      let value = UInt64(littleEndian: try read(UInt64.self, "key '\(key)'"))
      guard let int = Int(exactly: value) else { throw invalid("key '\(key)': \(value) in an array is too large") }
      return int
    default: return Int(Int64(littleEndian: try read(Int64.self, "key '\(key)'")))
    }
  }

  private mutating func array(_ key: String, depth: Int) throws(CheckpointError) -> GGUFArray {
    guard depth < Self.deepestArray else {
      throw invalid("key '\(key)': arrays nested deeper than \(Self.deepestArray) levels; the file is damaged")
    }
    let type = try type(key)
    let count = try count(of: type.minimumBytes, "key '\(key)' (array elements)")
    guard count <= Self.longestArray else {
      throw invalid("key '\(key)': an array of \(count) elements is longer than any real model's")
    }
    switch type {
    case .bool:
      var values: [Bool] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try bool(key)) }
      return .bools(values)
    case .string:
      var values: [String] = []
      values.reserveCapacity(count)
      for index in 0..<count { values.append(try string("key '\(key)'[\(index)]")) }
      return .strings(values)
    case .array:
      var values: [GGUFArray] = []
      for _ in 0..<count { values.append(try array(key, depth: depth + 1)) }
      return .arrays(values)
    case .float32, .float64:
      var values: [Double] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try number(type, key)) }
      return .numbers(values)
    default:
      var values: [Int] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try integer(type, key)) }
      return .integers(values)
    }
  }
}
