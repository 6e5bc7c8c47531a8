import KernelContract
import Tensors

extension Conv2d {
  /// The convolution of a map as a recipe.
  ///
  /// - Parameters:
  ///   - input: The map.
  ///   - stage: What happens to the map as it is read.
  func recipe(_ input: RowMap, after stage: ConvInputStage = ConvInputStage(), _ context: ExecutionContext) -> RowMap {
    let map = stage.outputShape(input.shape)
    let shape: Shape = [
      map[0], options.outputHeight(map[1], kernel: weight.kernelHeight),
      options.outputWidth(map[2], kernel: weight.kernelWidth), weight.outChannels,
    ]
    return RowMap(shape: shape) { isLast in
      let source = input.stream(isLast: isLast, context)
      return RowStream(context) { range in
        try rows(range, of: source, height: input.shape[1], after: stage, residual: nil, context)
      }
    }
  }

  /// The convolution of a normalised and activated map, band by band and joined; the map is let go.
  ///
  /// - Throws: `CancelledError`.
  func joined(_ input: RowMap, after norm: GroupNorm, memory: MapMemory, _ context: ExecutionContext) throws -> Tensor {
    let stage = ConvInputStage(factors: norm.factors(try input.statistics(memory, context)), activation: .silu)
    let result = recipe(input, after: stage, context)
    let source = result.stream(isLast: true, context)
    // The bands of the input, which is the larger one.
    let bands = try memory.bands([input.shape[0], result.shape[1], input.shape[2], input.shape[3]]).map { try source.take($0) }
    return context.kernels.joinRows(bands, range: 0..<result.shape[1])
  }

  /// Some rows of the result.
  ///
  /// - Parameters:
  ///   - range: Rows of the result.
  ///   - source: A pass over the input.
  ///   - height: Rows of the input.
  ///   - stage: What happens to the input as it is read.
  ///   - residual: Added, `[N, range.count, W', Cout]`.
  /// - Throws: `CancelledError`.
  func rows(
    _ range: Range<Int>, of source: RowStream, height: Int, after stage: ConvInputStage, residual: Tensor?,
    _ context: ExecutionContext
  ) throws -> Tensor {
    let factor = stage.enlarges ? 2 : 1
    // Rows of the enlarged map below the kernel, padding included.
    let lower = range.lowerBound * options.stride - options.top
    let upper = (range.upperBound - 1) * options.stride - options.top + weight.kernelHeight
    let first = max(0, lower) / factor
    let end = (min(height * factor, upper) + factor - 1) / factor
    var cut = options
    cut.top = first * factor - lower
    cut.bottom = upper - end * factor
    return context.kernels.conv2d(
      try source.take(first..<end), after: stage, weight: weight, options: cut, bias: bias, imageBias: nil, residual: residual)
  }
}
