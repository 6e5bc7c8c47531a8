public import Tensors

/// A safetensors file, memory-mapped.
///
/// Layout: a little-endian u64 header length, that many bytes of JSON (`name → {dtype, shape, data_offsets}`), the data.
/// Source: the format description of huggingface/safetensors.
public struct SafetensorsFile: WeightSource {
  /// The path.
  public let location: String
  /// The free-form `__metadata__` of the header.
  public let metadata: [String: String]
  private let views: [String: WeightView]

  private static let dtypes: [String: DType] = [
    "F64": .f64, "F32": .f32, "F16": .f16, "BF16": .bf16, "I64": .i64, "I32": .i32, "I16": .i16, "I8": .i8, "U8": .u8,
    "BOOL": .bool,
  ]

  /// The name that safetensors has for a type, or nil.
  static func typeName(of dtype: DType) -> String? { dtypes.first { $0.value == dtype }?.key }

  /// Opens a file and checks its whole header: lengths, types, shapes, offsets, overlaps, gaps.
  ///
  /// - Throws: ``CheckpointError``.
  public init(path: String) throws(CheckpointError) { try self.init(try MappedFile(path: path)) }

  /// Reads the file of another program into memory and checks its header as ``init(path:)`` does; links aren't followed.
  ///
  /// - Parameter longest: The most bytes that are read.
  /// - Throws: ``CheckpointError``.
  public init(copying path: String, longest: Int) throws(CheckpointError) {
    try self.init(try MappedFile(copying: path, longest: longest))
  }

  private init(_ file: MappedFile) throws(CheckpointError) {
    let path = file.path
    func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: path, message) }
    if let problem = ForeignContent.problem(
      file.bytes.prefix(ForeignContent.startLength), byteCount: max(file.bytes.count, file.bytes.isEmpty ? 0 : 10),
      expected: .safetensors)
    {
      throw invalid("expected a safetensors file, found \(problem)")
    }
    guard file.bytes.count >= 8 else {
      throw invalid("safetensors header: expected at least 8 bytes, found \(file.bytes.count); the file is truncated")
    }
    let headerLength = UInt64(littleEndian: file.bytes.loadUnaligned(as: UInt64.self))
    guard headerLength <= UInt64(file.bytes.count - 8), headerLength <= 256 << 20 else {
      throw invalid(
        "safetensors header: length \(headerLength) doesn't fit a file of \(file.bytes.count) bytes; truncated, or not a safetensors file"
      )
    }
    let dataStart = 8 + Int(headerLength)
    let dataLength = file.bytes.count - dataStart
    let header = UnsafeRawBufferPointer(rebasing: file.bytes[8..<dataStart])
    guard let root = try JSONValue(parsing: header, file: "\(path) (header)").object else {
      throw invalid("safetensors header: expected a JSON object, found something else; the file is damaged or not safetensors")
    }

    var views: [String: WeightView] = [:]
    var ranges: [(start: Int, end: Int, name: String)] = []
    for (name, entry) in root where name != "__metadata__" {
      guard let typeName = entry["dtype"]?.string, let dimensions = entry["shape"]?.integers,
        let offsets = entry["data_offsets"]?.integers, offsets.count == 2
      else { throw invalid("tensor '\(name)': expected dtype, shape and data_offsets in the header") }
      guard let dtype = Self.dtypes[typeName] else {
        throw CheckpointError(
          .unsupported, file: path,
          "tensor '\(name)': dtype \(typeName) isn't supported (known: \(Self.dtypes.keys.sorted().joined(separator: ", ")))")
      }
      guard let shape = Shape(validating: dimensions) else {
        throw invalid("tensor '\(name)': shape \(dimensions) isn't possible")
      }
      let (start, end) = (offsets[0], offsets[1])
      guard start >= 0, end >= start, end <= dataLength else {
        throw invalid(
          "tensor '\(name)': data_offsets [\(start), \(end)] lie outside the \(dataLength) bytes of data; the file is truncated or damaged"
        )
      }
      guard let expected = dtype.byteCount(elements: shape.elementCount), expected == end - start else {
        throw invalid(
          "tensor '\(name)': \(typeName) \(dimensions) needs \(dtype.byteCount(elements: shape.elementCount) ?? -1) bytes,"
            + " data_offsets give \(end - start)")
      }
      ranges.append((start, end, name))
      let bytes = UnsafeRawBufferPointer(rebasing: file.bytes[(dataStart + start)..<(dataStart + end)])
      views[name] = .aligned(name: name, dtype: dtype, shape: shape, bytes: bytes, owner: file)
    }
    ranges.sort { ($0.start, $0.end) < ($1.start, $1.end) }
    var position = 0
    for range in ranges {
      guard range.start == position else {
        throw invalid(
          range.start < position
            ? "tensor '\(range.name)': its bytes overlap those of another tensor"
            : "tensor '\(range.name)': starts at \(range.start), but the tensors before it end at \(position); bytes without a tensor"
        )
      }
      position = range.end
    }
    guard position == dataLength else {
      throw invalid("the tensors take \(position) bytes, but the file has \(dataLength) bytes of data; bytes without a tensor")
    }

    location = path
    metadata = Dictionary(
      (root["__metadata__"]?.object ?? [:]).compactMap { key, value in value.string.map { (key, $0) } }, uniquingKeysWith: { $1 })
    self.views = views
  }

  /// The names of all tensors, sorted.
  public var weightNames: [String] { views.keys.sorted() }

  /// The tensor of a name, or nil.
  public func weight(named name: String) -> WeightView? { views[name] }
}

extension JSONValue {
  /// The elements of an array of whole numbers that fit `Int`.
  fileprivate var integers: [Int]? {
    guard let values = array else { return nil }
    let integers = values.compactMap { value -> Int? in
      guard case .integer(let integer) = value else { return nil }
      return integer
    }
    return integers.count == values.count ? integers : nil
  }
}

extension Shape {
  /// The shape of untrusted extents; nil for negative ones, for too many, and when the product of any of them overflows.
  init?(validating dimensions: [Int]) {
    guard dimensions.count <= 16, dimensions.allSatisfy({ $0 >= 0 }) else { return nil }
    var product = 1
    for dimension in dimensions {
      let (next, overflow) = product.multipliedReportingOverflow(by: max(dimension, 1))
      guard !overflow, next <= 1 << 48 else { return nil }
      product = next
    }
    self.init(dimensions)
  }
}

/// A copy of a weight's bytes at an address that fits its elements.
private final class AlignedBytes: WeightOwner, @unchecked Sendable {
  // Written once, while it's made.
  let bytes: UnsafeRawBufferPointer

  init(copying source: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 64)
    copy.copyMemory(from: source)
    bytes = UnsafeRawBufferPointer(copy)
  }

  deinit { bytes.deallocate() }
}

extension WeightView {
  /// A view of the bytes, or of a copy where they lie at an odd address: old writers didn't pad the header.
  fileprivate static func aligned(
    name: String, dtype: DType, shape: Shape, bytes: UnsafeRawBufferPointer, owner: MappedFile
  ) -> WeightView {
    guard let base = bytes.baseAddress, bytes.count > 0, UInt(bitPattern: base) % UInt(dtype.blockBytes) != 0 else {
      return WeightView(name: name, dtype: dtype, shape: shape, bytes: bytes, owner: owner)
    }
    let copy = AlignedBytes(copying: bytes)
    return WeightView(name: name, dtype: dtype, shape: shape, bytes: copy.bytes, owner: copy)
  }
}
