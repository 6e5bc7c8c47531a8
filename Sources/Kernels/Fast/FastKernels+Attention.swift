public import KernelContract
public import Tensors

extension FastKernels {
  /// `softmax(scale · query · keyᵀ) · value` for each head, with a running softmax: no matrix of scores is kept.
  ///
  /// A row whose mask leaves no key is all zeros.
  public func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor {
    let heads = options.headCount
    let keyValueHeads = options.keyValueHeadCount
    precondition(query.shape.rank == 3 && key.shape.rank == 3, "attention: [B, T, heads · D] expected")
    precondition(
      heads > 0 && keyValueHeads > 0 && heads % keyValueHeads == 0, "attention: \(keyValueHeads) heads don't divide \(heads)")
    let headWidth = query.shape[2] / heads
    precondition(
      headWidth * heads == query.shape[2] && key.shape[2] == headWidth * keyValueHeads, "attention: head widths differ")
    precondition(
      key.shape == value.shape && key.shape[0] == query.shape[0], "attention: key \(key.shape) and value \(value.shape) differ")
    return Tensor.filled(query.shape) { output in
      withPointers(query, key, value) { queries, keys, values in
        guard let queries, let keys, let values else {
          output.update(repeating: 0, count: query.count)
          return
        }
        let attention = StreamingAttention(
          queries: queries, keys: keys, values: values, output: output, batch: query.shape[0], queryCount: query.shape[1],
          keyCount: key.shape[1], headWidth: headWidth, options: options,
          usesPairs: precision == .bf16)
        if query.shape[1] <= StreamingAttention.fewQueries {
          attention.runFewQueries(on: pool)
        } else {
          attention.run(on: pool)
        }
      }
    }
  }
}
