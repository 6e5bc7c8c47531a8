public import KernelContract
public import Tensors

extension FastKernels {
  /// 2-D cross-correlation of `[N, H, W, Cin]` with `[Cout, Cin, kH, kW]`.
  ///
  /// 1 × 1 is a matrix product of the pixels; 3 × 3 of stride 1 goes by Winograd where that pays; all else gathers patches
  /// block by block.
  public func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor {
    conv2d(
      input, after: ConvInputStage(), weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// The same of a map that is normalised, activated and enlarged as it is read; Winograd's way does that while it transforms
  /// its input, for the others the map is made.
  public func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor {
    let (kernelHeight, kernelWidth) = (weight.kernelHeight, weight.kernelWidth)
    let (inChannels, outChannels) = (weight.inChannels, weight.outChannels)
    precondition(
      input.shape.rank == 4 && input.shape[3] == inChannels, "conv2d: [N, H, W, \(inChannels)] expected, got \(input.shape)")
    let mapShape = stage.outputShape(input.shape)
    let (images, height, width) = (mapShape[0], mapShape[1], mapShape[2])
    let outHeight = options.outputHeight(height, kernel: kernelHeight)
    let outWidth = options.outputWidth(width, kernel: kernelWidth)
    let shape: Shape = [images, outHeight, outWidth, outChannels]
    precondition(bias == nil || bias?.count == outChannels, "conv2d: bias [\(outChannels)] expected")
    precondition(
      imageBias == nil || imageBias?.count == images * outChannels, "conv2d: imageBias [\(images), \(outChannels)] expected")
    precondition(residual == nil || residual?.shape == shape, "conv2d: residual \(shape) expected")
    let isPointwise =
      kernelHeight == 1 && kernelWidth == 1 && options == ConvOptions()
    let isWinograd =
      kernelHeight == 3 && kernelWidth == 3 && options.stride == 1
      && WinogradConvolution.pays(
        images: images, outHeight: outHeight, outWidth: outWidth, channels: inChannels, outChannels: outChannels)
    let hasStage = stage.factors != nil || stage.activation != .none || stage.enlarges
    if hasStage, !isWinograd || stage.factors == nil && stage.activation != .none {
      return conv2d(
        applied(stage, to: input), weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
    }
    if let factors = stage.factors {
      precondition(
        factors.values.shape == [images, 3, inChannels],
        "conv2d: factors [\(images), 3, \(inChannels)] expected, got \(factors.values.shape)")
    }
    let rows = images * outHeight * outWidth
    let reader = WeightReader(weight.view)
    return Tensor.filled(shape) { output in
      withPointers(bias, imageBias, residual) { bias, imageBias, residual in
        withPointers(input, stage.factors?.values) { input, factors, _ in
          guard let input else { return }
          let epilogue = Epilogue(
            bias: bias, imageBias: imageBias, rowsPerImage: outHeight * outWidth, residual: residual, columns: outChannels)
          if isPointwise {
            multiply(input, rows: rows, weight: reader, depth: inChannels, into: output, epilogue: epilogue)
          } else if isWinograd {
            WinogradConvolution(
              input: WinogradInput(
                base: input, height: height, width: width, channels: inChannels, factors: factors,
                activation: stage.activation, enlarges: stage.enlarges),
              channels: inChannels, images: images, weight: reader, options: options, outHeight: outHeight,
              outWidth: outWidth, output: output, epilogue: epilogue
            ).run(on: pool)
          } else {
            let geometry = PatchGeometry(
              input: input, height: height, width: width, channels: inChannels, kernelHeight: kernelHeight,
              kernelWidth: kernelWidth, outHeight: outHeight, outWidth: outWidth, options: options)
            MatrixProduct(
              source: .patches(geometry), weight: reader, rows: rows, depth: inChannels * geometry.tapCount,
              columns: outChannels, output: output, epilogue: epilogue, usesPairs: precision == .bf16 && geometry.holdsPairs
            ).run(on: pool)
          }
        }
      }
    }
  }
}
