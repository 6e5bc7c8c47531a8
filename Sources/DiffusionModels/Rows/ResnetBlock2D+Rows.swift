import KernelContract
import Tensors

extension ResnetBlock2D {
  /// Runs the block, without a time embedding, on a map in bands.
  ///
  /// The input, or its shortcut, and the first convolution's result are in memory. Where that's too much, the result is computed
  /// a second time instead of kept; an input that isn't kept is computed for the statistics, the convolution and the shortcut.
  ///
  /// - Parameters:
  ///   - input: Let go on the way.
  /// - Throws: `CancelledError`.
  func callAsFunction(_ input: RowMap, memory: MapMemory, _ context: ExecutionContext) throws -> RowMap {
    let stage1 = ConvInputStage(factors: norm1.factors(try input.statistics(memory, context)), activation: .silu)
    var hidden = conv1.recipe(input, after: stage1, context)
    var residual = input
    let shape = hidden.shape
    if let shortcut, input.isKept {
      // Both readers of the input in step, so that it goes while their results come.
      let pixels = input.stream(isLast: false, context)
      let neighbours = hidden.stream(isLast: true, context)
      var bands: [Tensor] = []
      hidden = try RowMap.kept(shape, memory, context) { range in
        bands.append(shortcut(try pixels.take(range), context))
        return try neighbours.take(range)
      }
      residual = RowMap(bands, shape: shape)
    } else {
      if let shortcut {
        residual = RowMap(shape: shape) { isLast in
          let pixels = input.stream(isLast: isLast, context)
          return RowStream(context) { range in shortcut(try pixels.take(range), context) }
        }
      }
      // The residual still reads the input.
      if !input.isKept || memory.allows(input.shape, shape) { hidden = try hidden.kept(isLast: false, memory, context) }
    }
    let stage2 = ConvInputStage(factors: norm2.factors(try hidden.statistics(memory, context)), activation: .silu)
    let inner = hidden.stream(isLast: hidden.isKept, context)
    let outer = residual.stream(isLast: true, context)
    let result = try RowMap.kept(shape, memory, context) { range in
      try conv2.rows(range, of: inner, height: shape[1], after: stage2, residual: outer.take(range), context)
    }
    try context.observe(name, result)
    return result
  }
}
