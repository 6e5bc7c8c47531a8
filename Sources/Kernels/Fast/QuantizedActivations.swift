internal import CPUFeatures
internal import Tensors

/// The GGUF blocks that are multiplied without becoming floats: 32 integers with a scale, and a minimum in Q4_1.
enum QuantizedBlock {
  case q8_0, q4_0, q4_1

  /// Nil for other types.
  init?(_ dtype: DType) {
    switch dtype {
    case .q8_0: self = .q8_0
    case .q4_0: self = .q4_0
    case .q4_1: self = .q4_1
    default: return nil
    }
  }

  /// What is added to a weight so that its byte is unsigned.
  var offset: Int32 {
    switch self {
    case .q8_0: 128
    case .q4_0: 8
    case .q4_1: 0
    }
  }

  /// Whether two neighbouring blocks are multiplied at once.
  static func isPaired(blockCount: Int) -> Bool {
    #if GENBENCH_ISA_V4BF16
      blockCount % 2 == 0
    #else
      false
    #endif
  }
}

/// Rows of activations in 16-bit integers, 32 of them sharing a scale.
///
/// Where blocks are multiplied in pairs, the integers are also there as high and low bytes, in the order in which the weights
/// of two blocks come out of their bytes.
struct QuantizedActivations {
  let blockCount: Int
  /// `[rows, depth]`.
  let integers: UnsafeMutablePointer<Int16>
  /// `[rows, blocks]`.
  let scales: UnsafeMutablePointer<Float>
  /// The sum of a block's activations, `[rows, blocks]`.
  let sums: UnsafeMutablePointer<Float>
  /// `[rows, depth]`.
  let high: UnsafeMutablePointer<Int8>
  /// `[rows, depth]`.
  let low: UnsafeMutablePointer<Int8>
  /// What takes the weights' offset back, for four activations each, `[rows, depth / 4]`.
  let start: UnsafeMutablePointer<Int32>
  /// Scale and sum of two blocks, `[rows, blocks / 2, 4]`.
  let factors: UnsafeMutablePointer<Float>

  /// Floats of memory that rows need.
  static func floatCount(rows: Int, blockCount: Int) -> Int { rows * blockCount * (16 + 2 + 16 + 8 + 2) }

  /// Lays the parts out in `memory` and fills them.
  init(_ input: UnsafePointer<Float>, rows: Int, blockCount: Int, kind: QuantizedBlock, memory: UnsafeMutablePointer<Float>) {
    self.blockCount = blockCount
    let blocks = rows * blockCount
    integers = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int16.self)
    high = UnsafeMutableRawPointer(memory + 16 * blocks).assumingMemoryBound(to: Int8.self)
    low = high + 32 * blocks
    start = UnsafeMutableRawPointer(memory + 32 * blocks).assumingMemoryBound(to: Int32.self)
    scales = memory + 40 * blocks
    sums = scales + blocks
    factors = sums + blocks
    for block in 0..<blocks {
      genbench_quantize_block(input + block * 32, integers + block * 32, scales + block, sums + block)
    }
    #if GENBENCH_ISA_V4BF16
      if QuantizedBlock.isPaired(blockCount: blockCount) {
        for pair in 0..<(blocks / 2) { split(pair, kind) }
      }
    #endif
  }

  #if GENBENCH_ISA_V4BF16
    /// Writes the bytes, starts and factors of one pair of blocks.
    private func split(_ pair: Int, _ kind: QuantizedBlock) {
      let source = integers + pair * 64
      let (high, low) = (high + pair * 64, low + pair * 64)
      for group in 0..<4 {
        // Nibbles come out as 16 low ones of each block, then 16 high ones of each.
        let from = kind == .q8_0 ? group * 16 : (group & 1) * 32 + (group >> 1) * 16
        for quad in 0..<4 {
          var sum: Int32 = 0
          for index in 0..<4 {
            let value = source[from &+ quad &* 4 &+ index]
            let lower = Int8(truncatingIfNeeded: value)
            high[group &* 16 &+ quad &* 4 &+ index] = Int8(truncatingIfNeeded: (value &- Int16(lower)) >> 8)
            low[group &* 16 &+ quad &* 4 &+ index] = lower
            sum &+= Int32(value)
          }
          start[pair &* 16 &+ group &* 4 &+ quad] = -kind.offset &* sum
        }
      }
      factors[4 * pair] = scales[2 * pair]
      factors[4 * pair + 1] = sums[2 * pair]
      factors[4 * pair + 2] = scales[2 * pair + 1]
      factors[4 * pair + 3] = sums[2 * pair + 1]
    }
  #endif
}
