internal import Tensors

/// Up to this many rows, a product reads its weights once and packs nothing.
let maxFewRows = 8

/// `C = A · Wᵀ` for a few rows of A, as for a time embedding or one token: bound by reading W.
///
/// Each row of W is converted into a buffer that stays in the L1 cache, and multiplied with every row of A.
func multiplyFewRows(
  _ input: UnsafePointer<Float>, rows: Int, weight: WeightReader, depth: Int, into output: UnsafeMutablePointer<Float>,
  epilogue: Epilogue, on pool: WorkCrew
) {
  let columns = epilogue.columns
  // A vector of columns at least, so that two threads don't write one cache line; 32 kB of weights or so per task.
  let grain = max(16, 16_384 / max(depth, 1) / 16 * 16)
  pool.parallelRanges(columns, grain: grain, scratchBytes: max(depth, 1) * MemoryLayout<Float>.stride) { range, scratch in
    let buffer = scratch.assumingMemoryBound(to: Float.self)
    for column in range {
      let weights: UnsafePointer<Float>
      if let inPlace = weight.row(column) {
        weights = inPlace
      } else {
        weight.read(row: column, from: 0, count: depth, into: buffer)
        weights = UnsafePointer(buffer)
      }
      var row = 0
      while row + 4 <= rows {
        let sums = dotProducts4(input + row * depth, stride: depth, weights, depth)
        for index in 0..<4 { output[(row + index) * columns + column] = sums[index] }
        row += 4
      }
      while row < rows {
        output[row * columns + column] = dotProduct(input + row * depth, weights, depth)
        row += 1
      }
    }
    if !epilogue.isIdentity {
      for row in 0..<rows {
        epilogue.finish(output + row * columns + range.lowerBound, row: row, first: range.lowerBound, count: range.count)
      }
    }
  }
}

/// The dot product of two stretches, in four vectors of partial sums.
@inline(__always)
func dotProduct(_ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, _ count: Int) -> Float {
  var s0 = Vector()
  var s1 = Vector()
  var s2 = Vector()
  var s3 = Vector()
  var index = 0
  while index + 4 * lanes <= count {
    s0 = multiplyAdd(s0, load(left + index), load(right + index))
    s1 = multiplyAdd(s1, load(left + index + lanes), load(right + index + lanes))
    s2 = multiplyAdd(s2, load(left + index + 2 * lanes), load(right + index + 2 * lanes))
    s3 = multiplyAdd(s3, load(left + index + 3 * lanes), load(right + index + 3 * lanes))
    index += 4 * lanes
  }
  while index + lanes <= count {
    s0 = multiplyAdd(s0, load(left + index), load(right + index))
    index += lanes
  }
  var sum = horizontalSum((s0 + s1) + (s2 + s3))
  while index < count {
    sum = multiplyAdd(sum, left[index], right[index])
    index += 1
  }
  return sum
}

/// Four dot products with one right side; the same value for a row as in any other place of the four.
@inline(__always)
private func dotProducts4(_ left: UnsafePointer<Float>, stride: Int, _ right: UnsafePointer<Float>, _ count: Int) -> SIMD4<Float>
{
  var s0 = Vector()
  var s1 = Vector()
  var s2 = Vector()
  var s3 = Vector()
  let l1 = left + stride
  let l2 = left + 2 * stride
  let l3 = left + 3 * stride
  var index = 0
  while index + lanes <= count {
    let weights = load(right + index)
    s0 = multiplyAdd(s0, load(left + index), weights)
    s1 = multiplyAdd(s1, load(l1 + index), weights)
    s2 = multiplyAdd(s2, load(l2 + index), weights)
    s3 = multiplyAdd(s3, load(l3 + index), weights)
    index += lanes
  }
  var sums = SIMD4(horizontalSum(s0), horizontalSum(s1), horizontalSum(s2), horizontalSum(s3))
  while index < count {
    let weight = right[index]
    sums.x = multiplyAdd(sums.x, left[index], weight)
    sums.y = multiplyAdd(sums.y, l1[index], weight)
    sums.z = multiplyAdd(sums.z, l2[index], weight)
    sums.w = multiplyAdd(sums.w, l3[index], weight)
    index += 1
  }
  return sums
}
