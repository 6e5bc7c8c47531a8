import Foundation
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

  /// Opens a file and checks its whole header: lengths, types, shapes, offsets, overlaps, gaps.
  ///
  /// - Throws: ``CheckpointError``.
  public init(path: String) throws(CheckpointError) {
    let file = try MappedFile(path: path)
    func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: path, message) }
    guard file.bytes.count >= 8 else {
      throw invalid("safetensors header: expected at least 8 bytes, found \(file.bytes.count); the file is truncated")
    }
    let headerLength = UInt64(littleEndian: file.bytes.loadUnaligned(as: UInt64.self))
    guard headerLength <= UInt64(file.bytes.count - 8), headerLength <= 256 << 20 else {
      throw invalid(
        "safetensors header: length \(headerLength) doesn't fit a file of \(file.bytes.count) bytes; truncated, or not a safetensors file"
      )
    }
    let header = Data(file.bytes[8..<(8 + Int(headerLength))])
    let dataStart = 8 + Int(headerLength)
    let dataLength = file.bytes.count - dataStart
    guard let root = try? JSONSerialization.jsonObject(with: header) as? [String: Any] else {
      throw invalid("safetensors header: expected a JSON object, found something else; the file is damaged or not safetensors")
    }

    var views: [String: WeightView] = [:]
    var ranges: [(start: Int, end: Int, name: String)] = []
    for (name, entry) in root where name != "__metadata__" {
      guard let entry = entry as? [String: Any], let typeName = entry["dtype"] as? String,
        let shapeValues = entry["shape"] as? [NSNumber], let offsets = entry["data_offsets"] as? [NSNumber], offsets.count == 2
      else { throw invalid("tensor '\(name)': expected dtype, shape and data_offsets in the header") }
      guard let dtype = Self.dtypes[typeName] else {
        throw CheckpointError(
          .unsupported, file: path,
          "tensor '\(name)': dtype \(typeName) isn't supported (known: \(Self.dtypes.keys.sorted().joined(separator: ", ")))")
      }
      let dimensions = shapeValues.map(\.int64Value)
      guard dimensions.allSatisfy({ $0 >= 0 }), dimensions.count <= 16 else {
        throw invalid("tensor '\(name)': shape \(dimensions) isn't possible")
      }
      var elements = 1
      for dimension in dimensions {
        let (product, overflow) = elements.multipliedReportingOverflow(by: Int(dimension))
        guard !overflow else { throw invalid("tensor '\(name)': shape \(dimensions) overflows") }
        elements = product
      }
      let start = offsets[0].int64Value
      let end = offsets[1].int64Value
      guard start >= 0, end >= start, end <= Int64(dataLength) else {
        throw invalid(
          "tensor '\(name)': data_offsets [\(start), \(end)] lie outside the \(dataLength) bytes of data; the file is truncated or damaged"
        )
      }
      guard let expected = dtype.byteCount(elements: elements), expected == Int(end - start) else {
        throw invalid(
          "tensor '\(name)': \(typeName) \(dimensions) needs \(dtype.byteCount(elements: elements) ?? -1) bytes, data_offsets give \(end - start)"
        )
      }
      ranges.append((Int(start), Int(end), name))
      let bytes = UnsafeRawBufferPointer(rebasing: file.bytes[(dataStart + Int(start))..<(dataStart + Int(end))])
      views[name] = WeightView(name: name, dtype: dtype, shape: Shape(dimensions.map { Int($0) }), bytes: bytes, owner: file)
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
    metadata = root["__metadata__"] as? [String: String] ?? [:]
    self.views = views
  }

  /// The names of all tensors, sorted.
  public var weightNames: [String] { views.keys.sorted() }

  /// The tensor of a name, or nil.
  public func weight(named name: String) -> WeightView? { views[name] }
}
