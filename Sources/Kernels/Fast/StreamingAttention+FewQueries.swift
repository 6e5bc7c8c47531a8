internal import KernelContract
internal import Tensors

extension StreamingAttention {
  /// Computes the output for a few queries, as in decoding: keys and values are read once, where they lie.
  func runFewQueries(on pool: WorkCrew) {
    let heads = options.headCount
    pool.parallelFor(batch * heads, scratchBytes: keyCount * MemoryLayout<Float>.stride) { task, scratch in
      let image = task / heads
      let head = task % heads
      let first = firstKey(image: image, head: head)
      // Scores, then probabilities, of one query: `[keyCount]`.
      let scores = scratch.assumingMemoryBound(to: Float.self)
      for query in 0..<queryCount {
        let element = firstElement(image: image, query: query, head: head)
        let visible = visibleKeys(query)
        for key in 0..<visible {
          scores[key] = dotProduct(queries + element, keys + first + key * keyStride, headWidth) * options.scale
        }
        let total = visible == 0 ? 1 : exponentials(scores, visible, minus: largestElement(scores, visible))
        weightedSum(values + first, weights: scores, count: visible, factor: 1 / total, into: output + element)
      }
    }
  }

  /// `target = factor · Σ weights[k] · rows[k]`, a few vectors of columns at a time.
  private func weightedSum(
    _ rows: UnsafePointer<Float>, weights: UnsafePointer<Float>, count: Int, factor: Float,
    into target: UnsafeMutablePointer<Float>
  ) {
    let scale = Vector(repeating: factor)
    var column = 0
    while column + 4 * lanes <= headWidth {
      var s0 = Vector()
      var s1 = Vector()
      var s2 = Vector()
      var s3 = Vector()
      for key in 0..<count {
        let row = rows + key * keyStride + column
        let weight = Vector(repeating: weights[key])
        s0 = multiplyAdd(s0, load(row), weight)
        s1 = multiplyAdd(s1, load(row + lanes), weight)
        s2 = multiplyAdd(s2, load(row + 2 * lanes), weight)
        s3 = multiplyAdd(s3, load(row + 3 * lanes), weight)
      }
      store(s0 * scale, target + column)
      store(s1 * scale, target + column + lanes)
      store(s2 * scale, target + column + 2 * lanes)
      store(s3 * scale, target + column + 3 * lanes)
      column += 4 * lanes
    }
    while column < headWidth {
      let width = min(lanes, headWidth - column)
      var sum = Vector()
      for key in 0..<count {
        let row = rows + key * keyStride + column
        sum = multiplyAdd(sum, width == lanes ? load(row) : loadPartial(row, width), Vector(repeating: weights[key]))
      }
      storePartial(sum * scale, target + column, width)
      column += lanes
    }
  }
}
