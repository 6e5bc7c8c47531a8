import Foundation
public import Tensors

/// Writes a safetensors file tensor by tensor, so that a file larger than memory can be made.
///
/// The header is written first, from the list of all tensors; then each tensor is appended in that order. The file appears
/// under its name with ``finish()``; dropped before, it leaves nothing behind.
public struct SafetensorsStreamWriter: ~Copyable {
  /// A tensor to come.
  public struct Entry: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// How it's stored: a plain type.
    public var dtype: DType
    /// Its extents, slowest axis first.
    public var shape: Shape

    /// Makes an entry.
    public init(name: String, dtype: DType, shape: Shape) {
      self.name = name
      self.dtype = dtype
      self.shape = shape
    }
  }

  private let path: String
  private let entries: [Entry]
  private var next = 0
  private var stream: AtomicFileStream

  /// Starts a file with its header.
  ///
  /// - Parameters:
  ///   - path: Where to; replaced when it exists.
  ///   - entries: All tensors in the order in which they'll be appended.
  ///   - metadata: Free-form `__metadata__`.
  /// - Throws: ``CheckpointError``: `.unsupported` for block types, `.invalid` for a name that occurs twice, `.unwritable`.
  public init(path: String, entries: [Entry], metadata: [String: String] = [:]) throws(CheckpointError) {
    var header: [String: JSONValue] = [:]
    if !metadata.isEmpty { header["__metadata__"] = .object(metadata.mapValues { .string($0) }) }
    var offset = 0
    for entry in entries {
      guard let name = SafetensorsFile.typeName(of: entry.dtype),
        let size = entry.dtype.byteCount(elements: entry.shape.elementCount)
      else {
        throw CheckpointError(.unsupported, file: path, "tensor '\(entry.name)': safetensors has no \(entry.dtype.rawValue)")
      }
      let value: JSONValue = [
        "dtype": .string(name), "shape": .array(entry.shape.dimensions.map { .integer($0) }),
        "data_offsets": [.integer(offset), .integer(offset + size)],
      ]
      guard entry.name != "__metadata__", header.updateValue(value, forKey: entry.name) == nil else {
        throw CheckpointError(.invalid, file: path, "tensor '\(entry.name)' can't be written twice")
      }
      offset += size
    }
    var json = Array(JSONValue.object(header).text(indent: nil).utf8)
    while json.count % 8 != 0 { json.append(UInt8(ascii: " ")) }
    var stream = try AtomicFileStream(path: path)
    try stream.write([UInt64(json.count).littleEndian])
    try stream.write(json)
    self.path = path
    self.entries = entries
    self.stream = stream
  }

  /// Appends the stored bytes of the next tensor.
  ///
  /// - Throws: ``CheckpointError``: `.invalid` when the size isn't that of the next entry, `.unwritable`.
  public mutating func append(bytes: UnsafeRawBufferPointer) throws(CheckpointError) {
    guard next < entries.count else {
      throw CheckpointError(.invalid, file: path, "\(entries.count) tensors were announced, found one more")
    }
    let entry = entries[next]
    guard entry.dtype.byteCount(elements: entry.shape.elementCount) == bytes.count else {
      throw CheckpointError(
        .invalid, file: path, "tensor '\(entry.name)': \(bytes.count) bytes don't fit \(entry.dtype.rawValue) \(entry.shape)")
    }
    try stream.write(bytes)
    next += 1
  }

  /// Appends the next tensor of `u8`.
  ///
  /// - Throws: As ``append(bytes:)``.
  public mutating func append(bytes: [UInt8]) throws(CheckpointError) {
    guard next < entries.count, entries[next].dtype == .u8, entries[next].shape.elementCount == bytes.count else {
      throw CheckpointError(.invalid, file: path, "\(bytes.count) bytes aren't the next tensor")
    }
    try stream.write(bytes)
    next += 1
  }

  /// Appends the next tensor, rounded to the type of its entry (`f32`, `f16` or `bf16`).
  ///
  /// - Throws: ``CheckpointError``: `.invalid` when the shape isn't that of the next entry, `.unsupported` for other types,
  ///   `.unwritable`.
  public mutating func append(_ tensor: Tensor) throws(CheckpointError) {
    guard next < entries.count, entries[next].shape == tensor.shape else {
      throw CheckpointError(
        .invalid, file: path,
        "expected \(next < entries.count ? "tensor '\(entries[next].name)' of shape \(entries[next].shape)" : "no more tensors"), "
          + "found one of shape \(tensor.shape)")
    }
    switch entries[next].dtype {
    case .f32: try stream.write(tensor)
    case .f16: try stream.write(tensor.withUnsafeBuffer { source in source.map(\.halfBits) })
    case .bf16: try stream.write(tensor.withUnsafeBuffer { source in source.map(\.bfloatBits) })
    default:
      throw CheckpointError(
        .unsupported, file: path, "tensor '\(entries[next].name)': Float can't be written as \(entries[next].dtype.rawValue)")
    }
    next += 1
  }

  /// Completes the file.
  ///
  /// - Throws: ``CheckpointError``: `.invalid` when tensors are missing, `.unwritable`; nothing is left behind then.
  public consuming func finish() throws(CheckpointError) {
    guard next == entries.count else {
      throw CheckpointError(.invalid, file: path, "\(entries.count) tensors were announced, found \(next)")
    }
    try stream.commit()
  }
}
