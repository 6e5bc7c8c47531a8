internal import CPUFeatures
internal import Tensors

/// `C = A · Wᵀ` for one to four rows of A and weights in GGUF blocks of 32, which never become floats.
///
/// Decoding a token reads every weight once and does two operations with it, so it is bound by memory: the blocks are read as
/// they lie. A row of A becomes 16-bit integers, 32 of them sharing a scale; the products with the block's integers are exact
/// and are scaled once a block. What is lost is the rounding of A: at most 2⁻¹⁶ of the largest magnitude of its block of 32
/// (8-bit activations, as other engines take, lose 2⁻⁸), so a product differs by less than `2⁻¹⁶ · Σ|w| · max|a|`.
struct QuantizedRows {
  /// The most rows of A; above them, converting a weight once for all rows is cheaper.
  static let maxRows = 4

  private enum Kind {
    case q8_0, q4_0, q4_1
  }

  private let kind: Kind
  private let base: UnsafeRawPointer
  private let blocksPerRow: Int
  private let blockBytes: Int

  /// Nil when the weight is of another type, or its rows end inside a block.
  init?(_ weight: WeightView, depth: Int) {
    switch weight.dtype {
    case .q8_0: kind = .q8_0
    case .q4_0: kind = .q4_0
    case .q4_1: kind = .q4_1
    default: return nil
    }
    guard depth > 0, depth % 32 == 0, let base = weight.bytes.baseAddress else { return nil }
    self.base = base
    blocksPerRow = depth / 32
    blockBytes = weight.dtype.blockBytes
  }

  /// Computes C.
  ///
  /// - Parameters:
  ///   - input: `[rows, depth]`.
  ///   - rows: `1...maxRows`.
  ///   - output: `[rows, epilogue.columns]`.
  func multiply(
    _ input: UnsafePointer<Float>, rows: Int, into output: UnsafeMutablePointer<Float>, epilogue: Epilogue, on pool: WorkerPool
  ) {
    let depth = blocksPerRow * 32
    let columns = epilogue.columns
    // The rows in 16 bits, then a scale and a sum for each of their blocks.
    let halfFloats = rows * depth / 2
    withPooledScratch(halfFloats + 2 * rows * blocksPerRow) { memory in
      let integers = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int16.self)
      let scales = memory + halfFloats
      let sums = scales + rows * blocksPerRow
      for block in 0..<(rows * blocksPerRow) {
        genbench_quantize_block(input + block * 32, integers + block * 32, scales + block, sums + block)
      }
      // 32 kB of weights or so per task, and whole cache lines of C.
      let grain = max(16, 32_768 / (blocksPerRow * blockBytes) / 16 * 16)
      pool.parallelRanges(columns, grain: grain) { range, _ in
        for row in 0..<rows {
          let first = row * blocksPerRow
          for column in range {
            output[row * columns + column] = dotProduct(
              column, integers + first * 32, scales: scales + first, sums: sums + first)
          }
          if !epilogue.isIdentity {
            epilogue.finish(output + row * columns + range.lowerBound, row: row, first: range.lowerBound, count: range.count)
          }
        }
      }
    }
  }

  @inline(__always)
  private func dotProduct(
    _ column: Int, _ activations: UnsafePointer<Int16>, scales: UnsafePointer<Float>, sums: UnsafePointer<Float>
  ) -> Float {
    let row = base + column * blocksPerRow * blockBytes
    switch kind {
    case .q8_0:
      return accumulate(row, blockBytes: 34) { block, index in
        (genbench_multiply_bytes(block + 2, activations + index * 32), genbench_f16_to_f32(block) * scales[index], 0)
      }
    case .q4_0:
      return accumulate(row, blockBytes: 18) { block, index in
        let scale = genbench_f16_to_f32(block)
        return (genbench_multiply_nibbles(block + 2, activations + index * 32), scale * scales[index], -8 * scale * sums[index])
      }
    case .q4_1:
      return accumulate(row, blockBytes: 20) { block, index in
        (
          genbench_multiply_nibbles(block + 4, activations + index * 32), genbench_f16_to_f32(block) * scales[index],
          genbench_f16_to_f32(block + 2) * sums[index]
        )
      }
    }
  }

  /// Adds up a row: `Σ products · scale + offset`, in two chains so that they overlap.
  @inline(__always)
  private func accumulate(
    _ row: UnsafeRawPointer, blockBytes: Int,
    _ block: (UnsafeRawPointer, Int) -> (products: genbench_block_sums, scale: Float, offset: Float)
  ) -> Float {
    var s0 = Vector()
    var s1 = Vector()
    var o0: Float = 0
    var o1: Float = 0
    var index = 0
    while index + 2 <= blocksPerRow {
      let left = block(row + index * blockBytes, index)
      let right = block(row + (index + 1) * blockBytes, index + 1)
      s0 = multiplyAdd(s0, left.products, Vector(repeating: left.scale))
      s1 = multiplyAdd(s1, right.products, Vector(repeating: right.scale))
      o0 += left.offset
      o1 += right.offset
      index += 2
    }
    if index < blocksPerRow {
      let last = block(row + index * blockBytes, index)
      s0 = multiplyAdd(s0, last.products, Vector(repeating: last.scale))
      o0 += last.offset
    }
    return horizontalSum(s0 + s1) + (o0 + o1)
  }
}
