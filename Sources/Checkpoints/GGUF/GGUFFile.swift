public import Tensors

/// A GGUF file, memory-mapped: metadata and tensors of llama.cpp and stable-diffusion.cpp.
///
/// Layout: magic, version, counts, metadata, tensor table, data on `general.alignment`. Extents are stored fastest first;
/// ``weight(named:)`` gives them slowest first, as PyTorch does. Source: the GGUF description of ggml-org/ggml, versions 2 and 3.
public struct GGUFFile: WeightSource {
  /// The path.
  public let location: String
  /// The version of the format.
  public let version: Int
  /// All metadata by key.
  public let metadata: [String: GGUFValue]
  private let views: [String: WeightView]

  private static let magic: [UInt8] = Array("GGUF".utf8)
  private static let dtypes: [UInt32: DType] = [
    0: .f32, 1: .f16, 2: .q4_0, 3: .q4_1, 6: .q5_0, 7: .q5_1, 8: .q8_0, 10: .q2K, 11: .q3K, 12: .q4K, 13: .q5K, 14: .q6K,
    24: .i8, 25: .i16, 26: .i32, 27: .i64, 28: .f64, 30: .bf16,
  ]
  private static let unsupportedTypes: [UInt32: String] = [
    9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S",
    23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0",
  ]

  private struct Entry {
    var name: String
    var dtype: DType
    var shape: Shape
    var offset: Int
    var byteCount: Int
  }

  /// Whether a file starts like a GGUF file.
  static func hasMagic(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.prefix(4).elementsEqual(magic) }

  /// Opens a file and checks its whole header: counts, strings, types, shapes, offsets, overlaps.
  ///
  /// - Throws: ``CheckpointError``.
  public init(path: String) throws(CheckpointError) {
    let file = try MappedFile(path: path)
    var cursor = GGUFCursor(file: path, bytes: file.bytes)
    guard Self.hasMagic(file.bytes) else {
      throw cursor.invalid("expected a GGUF file (it starts with 'GGUF'), found something else")
    }
    _ = try cursor.read(UInt32.self, "magic")
    let rawVersion = UInt32(littleEndian: try cursor.read(UInt32.self, "version"))
    guard rawVersion == 2 || rawVersion == 3 else {
      let kind = rawVersion & 0xFFFF == 0 && rawVersion != 0 ? "big-endian" : "version \(rawVersion)"
      throw CheckpointError(
        .unsupported, file: path, "GGUF: expected version 2 or 3 in little-endian order, found \(kind); convert the model anew")
    }

    // A tensor takes at least a length, a rank, a type and an offset; a key a length, a type and a byte.
    let tensorCount = try cursor.count(of: 24, "tensor count")
    let keyCount = try cursor.count(of: 13, "metadata count")
    var metadata: [String: GGUFValue] = [:]
    for _ in 0..<keyCount {
      let key = try cursor.string("metadata key")
      guard metadata.updateValue(try cursor.value(key), forKey: key) == nil else {
        throw cursor.invalid("key '\(key)' occurs twice; the file is damaged")
      }
    }
    if let parts = metadata["split.count"]?.int, parts > 1 {
      throw CheckpointError(
        .unsupported, file: path,
        "one of \(parts) parts of a split model, which isn't read; join them with llama.cpp: llama-gguf-split --merge FIRST OUT")
    }
    var alignment = 32
    if let value = metadata["general.alignment"] {
      guard let stored = value.int, stored >= 8, stored <= 1 << 20, stored & (stored - 1) == 0 else {
        throw cursor.invalid("key 'general.alignment': expected a power of two from 8 to 1048576, found \(value.summary)")
      }
      alignment = stored
    }

    var entries: [Entry] = []
    entries.reserveCapacity(tensorCount)
    for _ in 0..<tensorCount { entries.append(try Self.entry(&cursor, alignment: alignment)) }
    let dataStart = (cursor.position + alignment - 1) / alignment * alignment
    let dataLength = max(0, file.bytes.count - dataStart)

    var views: [String: WeightView] = [:]
    views.reserveCapacity(tensorCount)
    var end = 0
    for entry in entries.sorted(by: { ($0.offset, $0.byteCount) < ($1.offset, $1.byteCount) }) {
      guard entry.offset <= dataLength, entry.byteCount <= dataLength - entry.offset else {
        throw cursor.invalid(
          "tensor '\(entry.name)': \(entry.byteCount) bytes at \(entry.offset) lie outside the \(dataLength) bytes of data; the "
            + "file is truncated or damaged")
      }
      guard entry.offset >= end else {
        throw cursor.invalid("tensor '\(entry.name)': its bytes overlap those of another tensor; the file is damaged")
      }
      end = entry.offset + entry.byteCount
      let start = dataStart + entry.offset
      let bytes =
        entry.byteCount == 0
        ? UnsafeRawBufferPointer(start: nil, count: 0)
        : UnsafeRawBufferPointer(rebasing: file.bytes[start..<(start + entry.byteCount)])
      let view = WeightView(name: entry.name, dtype: entry.dtype, shape: entry.shape, bytes: bytes, owner: file)
      guard views.updateValue(view, forKey: entry.name) == nil else {
        throw cursor.invalid("tensor '\(entry.name)' occurs twice; the file is damaged")
      }
    }
    location = path
    version = Int(rawVersion)
    self.metadata = metadata
    self.views = views
  }

  private static func entry(_ cursor: inout GGUFCursor, alignment: Int) throws(CheckpointError) -> Entry {
    let name = try cursor.string("tensor name")
    let rank = UInt32(littleEndian: try cursor.read(UInt32.self, "tensor '\(name)' (rank)"))
    guard rank <= 4 else { throw cursor.invalid("tensor '\(name)': \(rank) axes aren't possible (at most 4)") }
    var extents: [Int] = []
    var elements = 1
    for _ in 0..<rank {
      let extent = UInt64(littleEndian: try cursor.read(UInt64.self, "tensor '\(name)' (shape)"))
      let (product, overflow) = elements.multipliedReportingOverflow(by: Int(exactly: extent) ?? .max)
      guard extent <= UInt64(Int.max), !overflow else {
        throw cursor.invalid("tensor '\(name)': an extent of \(extent) isn't possible; the file is damaged")
      }
      elements = product
      extents.append(Int(extent))
    }
    let rawType = UInt32(littleEndian: try cursor.read(UInt32.self, "tensor '\(name)' (type)"))
    guard let dtype = dtypes[rawType] else {
      if let known = unsupportedTypes[rawType] {
        throw CheckpointError(
          .unsupported, file: cursor.file,
          "tensor '\(name)': type \(known) isn't supported (supported: F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K to Q6_K); get "
            + "another quantisation of this model")
      }
      throw cursor.invalid("tensor '\(name)': \(rawType) is no tensor type; the file is damaged or too new")
    }
    let offset = UInt64(littleEndian: try cursor.read(UInt64.self, "tensor '\(name)' (offset)"))
    guard (extents.first ?? 1) % dtype.blockLength == 0, let byteCount = dtype.byteCount(elements: elements) else {
      throw cursor.invalid(
        "tensor '\(name)': rows of \(extents.first ?? 1) elements don't fill whole \(dtype.rawValue) blocks of "
          + "\(dtype.blockLength)")
    }
    guard offset % UInt64(alignment) == 0, let start = Int(exactly: offset) else {
      throw cursor.invalid(
        "tensor '\(name)': offset \(offset) isn't a multiple of the alignment \(alignment); the file is damaged")
    }
    return Entry(name: name, dtype: dtype, shape: Shape(extents.reversed()), offset: start, byteCount: byteCount)
  }

  /// The names of all tensors, sorted.
  public var weightNames: [String] { views.keys.sorted() }

  /// The tensor of a name, or nil.
  public func weight(named name: String) -> WeightView? { views[name] }
}
