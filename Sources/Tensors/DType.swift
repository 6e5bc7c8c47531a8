/// How the elements of a weight are stored.
///
/// The block types are GGUF's: a row is cut into blocks of `blockLength` elements that share scales.
public enum DType: String, Sendable, Hashable, CaseIterable {
  case f64, f32, f16, bf16
  case i64, i32, i16, i8, u8, bool
  case q4_0, q4_1, q5_0, q5_1, q8_0
  case q2K = "q2_K"
  case q3K = "q3_K"
  case q4K = "q4_K"
  case q5K = "q5_K"
  case q6K = "q6_K"

  /// Elements in one block; 1 for the plain types.
  public var blockLength: Int {
    switch self {
    case .f64, .f32, .f16, .bf16, .i64, .i32, .i16, .i8, .u8, .bool: 1
    case .q4_0, .q4_1, .q5_0, .q5_1, .q8_0: 32
    case .q2K, .q3K, .q4K, .q5K, .q6K: 256
    }
  }

  /// Bytes of one block; the element size for the plain types.
  public var blockBytes: Int {
    switch self {
    case .f64, .i64: 8
    case .f32, .i32: 4
    case .f16, .bf16, .i16: 2
    case .i8, .u8, .bool: 1
    case .q4_0: 18
    case .q4_1: 20
    case .q5_0: 22
    case .q5_1: 24
    case .q8_0: 34
    case .q2K: 84
    case .q3K: 110
    case .q4K: 144
    case .q5K: 176
    case .q6K: 210
    }
  }

  /// Whether the values are real numbers (plain or in blocks), so that they can become `Float`.
  public var isFloatingPoint: Bool {
    switch self {
    case .i64, .i32, .i16, .i8, .u8, .bool: false
    default: true
    }
  }

  /// Bytes of `elements` elements stored in whole blocks, or nil when that isn't a whole number of blocks or overflows.
  public func byteCount(elements: Int) -> Int? {
    guard elements >= 0, elements % blockLength == 0 else { return nil }
    let (bytes, overflow) = (elements / blockLength).multipliedReportingOverflow(by: blockBytes)
    return overflow ? nil : bytes
  }
}
