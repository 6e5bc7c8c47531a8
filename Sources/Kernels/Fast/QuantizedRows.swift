internal import CPUFeatures
internal import KernelContract
internal import Tensors

/// `C = A · Wᵀ` for one to four rows of A and weights in GGUF blocks of 32, which never become floats.
///
/// Decoding a token reads every weight once and does two operations with it: the blocks are read as they lie. A row of A
/// becomes 16-bit integers, 32 of them sharing a scale; the products with the block's integers are exact and are scaled once
/// a block. What is lost is the rounding of A: half of 1/32512 of the largest magnitude in its block of 32 (8-bit activations,
/// as other engines take, lose 256 times that), so a product differs by less than `2⁻¹⁶ · Σ |w| · max |a|`, near enough.
struct QuantizedRows {
  /// The most rows of A; above them, converting a weight once for all rows is cheaper.
  static let maxRows = 4

  let kind: QuantizedBlock
  let blockCount: Int
  /// Rows of W.
  let rowCount: Int
  private let base: UnsafeRawPointer

  /// Nil when the weight is of another type, or its rows end inside a block.
  init?(_ weight: WeightView) {
    guard let kind = QuantizedBlock(weight.dtype), let base = weight.bytes.baseAddress else { return nil }
    let depth = weight.shape[1]
    guard depth > 0, depth % 32 == 0 else { return nil }
    self.kind = kind
    self.base = base
    blockCount = depth / 32
    rowCount = weight.shape[0]
  }

  /// Nil when the weight isn't made of the blocks of a product.
  init?(_ weight: WeightView, like product: QuantizedProduct) {
    self.init(weight)
    guard kind == product.layers[0].kind, blockCount == product.layers[0].blockCount else { return nil }
  }

  /// How far ahead weights are asked for, in bytes: more than what arrives while the memory answers.
  private var prefetchDistance: Int { 4096 }

  /// Bytes of one row of W.
  var rowBytes: Int {
    switch kind {
    case .q8_0: blockCount * 34
    case .q4_0: blockCount * 18
    case .q4_1: blockCount * 20
    }
  }

  /// The products of one row of A with the rows `columns` of W.
  ///
  /// - Parameter target: Room for `columns.count` elements.
  func multiply(
    _ activations: QuantizedActivations, row: Int, columns: Range<Int>, into target: UnsafeMutablePointer<Float>
  ) {
    #if GENBENCH_ISA_V4BF16
      if QuantizedBlock.isPaired(blockCount: blockCount) {
        multiplyPairs(activations, row: row, columns: columns, into: target)
        return
      }
    #endif
    let first = row * blockCount
    let (integers, scales, sums) = (activations.integers + first * 32, activations.scales + first, activations.sums + first)
    switch kind {
    case .q8_0:
      accumulate(columns, blockBytes: 34, into: target) { block, index in
        (genbench_multiply_bytes(block + 2, integers + index &* 32), genbench_f16_to_f32(block) * scales[index], 0)
      }
    case .q4_0:
      accumulate(columns, blockBytes: 18, into: target) { block, index in
        let scale = genbench_f16_to_f32(block)
        return (genbench_multiply_nibbles(block + 2, integers + index &* 32), scale * scales[index], -8 * scale * sums[index])
      }
    case .q4_1:
      accumulate(columns, blockBytes: 20, into: target) { block, index in
        (
          genbench_multiply_nibbles(block + 4, integers + index &* 32), genbench_f16_to_f32(block) * scales[index],
          genbench_f16_to_f32(block + 2) * sums[index]
        )
      }
    }
  }

  /// For each row of W `Σ products · scale + offset`, in two chains so that they overlap.
  @inline(__always)
  private func accumulate(
    _ columns: Range<Int>, blockBytes: Int, into target: UnsafeMutablePointer<Float>,
    _ block: (UnsafeRawPointer, Int) -> (products: genbench_block_sums, scale: Float, offset: Float)
  ) {
    var position = base + columns.lowerBound * blockCount * blockBytes
    for column in 0..<columns.count {
      var s0 = Vector()
      var s1 = Vector()
      var o0: Float = 0
      var o1: Float = 0
      var index = 0
      while index &+ 2 <= blockCount {
        genbench_prefetch(position + prefetchDistance)
        let left = block(position, index)
        let right = block(position + blockBytes, index &+ 1)
        s0 = multiplyAdd(s0, left.products, Vector(repeating: left.scale))
        s1 = multiplyAdd(s1, right.products, Vector(repeating: right.scale))
        o0 += left.offset
        o1 += right.offset
        index &+= 2
        position += 2 &* blockBytes
      }
      if index < blockCount {
        let last = block(position, index)
        s0 = multiplyAdd(s0, last.products, Vector(repeating: last.scale))
        o0 += last.offset
        position += blockBytes
      }
      target[column] = horizontalSum(s0 + s1) + (o0 + o1)
    }
  }

  // MARK: - Two blocks at once

  #if GENBENCH_ISA_V4BF16
    private func multiplyPairs(
      _ activations: QuantizedActivations, row: Int, columns: Range<Int>, into target: UnsafeMutablePointer<Float>
    ) {
      let pair = row * blockCount / 2
      let (high, low, start) = (activations.high + pair * 64, activations.low + pair * 64, activations.start + pair * 16)
      let factors = activations.factors + pair * 4
      switch kind {
      case .q8_0:
        accumulatePairs(columns, blockBytes: 34, into: target) { block, index in
          let scales = genbench_pair_scales(block, block + 34, factors + index &* 4)
          let sums = genbench_multiply_byte_pair(
            block + 2, block + 36, high + index &* 64, low + index &* 64, start + index &* 16)
          return (sums, genbench_spread_for_bytes(scales), scales)
        }
      case .q4_0:
        accumulatePairs(columns, blockBytes: 18, into: target) { block, index in
          let scales = genbench_pair_scales(block, block + 18, factors + index &* 4)
          let sums = genbench_multiply_nibble_pair(
            block + 2, block + 20, high + index &* 64, low + index &* 64, start + index &* 16)
          return (sums, genbench_spread_for_nibbles(scales), scales)
        }
      case .q4_1:
        accumulatePairs(columns, blockBytes: 20, into: target) { block, index in
          let scales = genbench_pair_scales_and_minima(block, block + 20, factors + index &* 4)
          let sums = genbench_multiply_nibble_pair(
            block + 4, block + 24, high + index &* 64, low + index &* 64, start + index &* 16)
          return (sums, genbench_spread_for_nibbles(scales), scales)
        }
      }
    }

    /// For each row of W `Σ products · scale`, and what the minima add: elements 1 and 3 of the scales.
    @inline(__always)
    private func accumulatePairs(
      _ columns: Range<Int>, blockBytes: Int, into target: UnsafeMutablePointer<Float>,
      _ pair: (UnsafeRawPointer, Int) -> (products: genbench_block_sums, scale: genbench_block_sums, scales: genbench_float4)
    ) {
      let pairCount = blockCount / 2
      var position = base + columns.lowerBound * blockCount * blockBytes
      for column in 0..<columns.count {
        var s0 = Vector()
        var s1 = Vector()
        var minima = SIMD4<Float>()
        var index = 0
        while index &+ 2 <= pairCount {
          // Two blocks a line or so: every line once, far enough ahead for the memory, which decoding waits for.
          genbench_prefetch(position + prefetchDistance)
          genbench_prefetch(position + prefetchDistance + 64)
          if blockBytes > 32 { genbench_prefetch(position + prefetchDistance + 128) }
          let left = pair(position, index)
          let right = pair(position + 2 &* blockBytes, index &+ 1)
          s0 = multiplyAdd(s0, left.products, left.scale)
          s1 = multiplyAdd(s1, right.products, right.scale)
          minima += left.scales + right.scales
          index &+= 2
          position += 4 &* blockBytes
        }
        if index < pairCount {
          let last = pair(position, index)
          s0 = multiplyAdd(s0, last.products, last.scale)
          minima += last.scales
          position += 2 &* blockBytes
        }
        target[column] = horizontalSum(s0 + s1) + (kind == .q4_1 ? minima.y + minima.w : 0)
      }
    }
  #endif
}
