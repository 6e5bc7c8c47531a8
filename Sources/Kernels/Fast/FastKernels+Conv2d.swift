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
    let (kernelHeight, kernelWidth) = (weight.kernelHeight, weight.kernelWidth)
    let (inChannels, outChannels) = (weight.inChannels, weight.outChannels)
    precondition(
      input.shape.rank == 4 && input.shape[3] == inChannels, "conv2d: [N, H, W, \(inChannels)] expected, got \(input.shape)")
    let (images, height, width) = (input.shape[0], input.shape[1], input.shape[2])
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
    let rows = images * outHeight * outWidth
    let reader = WeightReader(weight.view)
    return Tensor.filled(shape) { output in
      withPointers(bias, imageBias, residual) { bias, imageBias, residual in
        input.withPointer { input in
          guard let input else { return }
          let epilogue = Epilogue(
            bias: bias, imageBias: imageBias, rowsPerImage: outHeight * outWidth, residual: residual, columns: outChannels)
          if isPointwise {
            multiply(input, rows: rows, weight: reader, depth: inChannels, into: output, epilogue: epilogue)
          } else if isWinograd {
            WinogradConvolution(
              input: input, height: height, width: width, channels: inChannels, images: images, weight: reader,
              options: options, outHeight: outHeight, outWidth: outWidth, output: output, epilogue: epilogue
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
