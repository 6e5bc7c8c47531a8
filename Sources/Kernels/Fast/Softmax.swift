// What a softmax over a row is made of.

/// The largest of some floats; with a NaN among them, any of them or NaN.
@inline(__always)
func largestElement(_ source: UnsafePointer<Float>, _ count: Int) -> Float {
  var largest = Vector(repeating: -.infinity)
  var index = 0
  while index + lanes <= count {
    largest = maximum(largest, load(source + index))
    index += lanes
  }
  var result = horizontalMaximum(largest)
  while index < count {
    result = max(result, source[index])
    index += 1
  }
  return result
}

/// Replaces floats by `exp(x - largest)`; returns their sum.
@inline(__always)
func exponentials(_ values: UnsafeMutablePointer<Float>, _ count: Int, minus largest: Float) -> Float {
  let shift = Vector(repeating: largest)
  var sum = Vector()
  var index = 0
  while index + lanes <= count {
    let value = exponential(load(values + index) - shift)
    sum += value
    store(value, values + index)
    index += lanes
  }
  var total = horizontalSum(sum)
  if index < count {
    let value = exponential(loadPartial(values + index, count - index) - shift)
    storePartial(value, values + index, count - index)
    for lane in 0..<(count - index) { total += value[lane] }
  }
  return total
}

/// Replaces floats by `2^(x - largest)`, none of which is above 1; returns their sum.
@inline(__always)
func powersOfTwo(_ values: UnsafeMutablePointer<Float>, _ count: Int, minus largest: Float) -> Float {
  let shift = Vector(repeating: largest)
  var sum = Vector()
  var index = 0
  while index + lanes <= count {
    let value = powerOfTwo(load(values + index) - shift)
    sum += value
    store(value, values + index)
    index += lanes
  }
  var total = horizontalSum(sum)
  if index < count {
    let value = powerOfTwo(loadPartial(values + index, count - index) - shift)
    storePartial(value, values + index, count - index)
    for lane in 0..<(count - index) { total += value[lane] }
  }
  return total
}
