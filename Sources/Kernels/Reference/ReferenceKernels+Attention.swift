public import KernelContract
public import Tensors

extension ReferenceKernels {
  /// `softmax(scale · query · keyᵀ) · value` for each head; one row of scores at a time.
  ///
  /// A row whose mask leaves no key is all zeros.
  public func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor {
    let heads = options.headCount
    let keyValueHeads = options.keyValueHeadCount
    precondition(query.shape.rank == 3 && key.shape.rank == 3, "attention: [B, T, heads · D] expected")
    precondition(
      heads > 0 && keyValueHeads > 0 && heads % keyValueHeads == 0, "attention: \(keyValueHeads) heads don't divide \(heads)")
    let (batch, queryCount, width) = (query.shape[0], query.shape[1], query.shape[2])
    let keyCount = key.shape[1]
    let keyWidth = key.shape[2]
    let headWidth = width / heads
    precondition(headWidth * heads == width && keyWidth == headWidth * keyValueHeads, "attention: head widths differ")
    precondition(key.shape == value.shape && key.shape[0] == batch, "attention: key \(key.shape) and value \(value.shape) differ")
    return Tensor(shape: query.shape) { output in
      query.withUnsafeBuffer { query in
        key.withUnsafeBuffer { key in
          value.withUnsafeBuffer { value in
            var scores = [Double](repeating: 0, count: keyCount)
            var sums = [Double](repeating: 0, count: headWidth)
            for image in 0..<batch {
              for head in 0..<heads {
                let keyHead = head / (heads / keyValueHeads)
                for row in 0..<queryCount {
                  let first = (image * queryCount + row) * width + head * headWidth
                  let visible = options.causalOffset.map { max(0, min(keyCount, row + $0 + 1)) } ?? keyCount
                  for column in 0..<visible {
                    let keyFirst = (image * keyCount + column) * keyWidth + keyHead * headWidth
                    var dot = 0.0
                    for index in 0..<headWidth { dot += Double(query[first + index]) * Double(key[keyFirst + index]) }
                    scores[column] = dot * Double(options.scale)
                  }
                  let largest = scores[..<visible].max() ?? 0
                  var total = 0.0
                  for index in 0..<headWidth { sums[index] = 0 }
                  for column in 0..<visible {
                    let probability = exponential(scores[column] - largest)
                    total += probability
                    let valueFirst = (image * keyCount + column) * keyWidth + keyHead * headWidth
                    for index in 0..<headWidth { sums[index] += probability * Double(value[valueFirst + index]) }
                  }
                  for index in 0..<headWidth { output[first + index] = visible == 0 ? 0 : Float(sums[index] / total) }
                }
              }
            }
          }
        }
      }
    }
  }
}
