package import Checkpoints
package import KernelContract
package import Tensors

/// Halves an image by a strided convolution; equals diffusers' `Downsample2D`.
package struct Downsample2D: Sendable {
  let name: String
  let conv: Conv2d

  /// Builds the layer; the UNet pads all sides by one, the VAE only the right and the bottom.
  package init(_ loader: ParameterLoader, channels: Int, padsRightAndBottomOnly: Bool) throws(CheckpointError) {
    name = loader.name
    let options =
      padsRightAndBottomOnly ? ConvOptions(stride: 2, top: 0, bottom: 1, left: 0, right: 1) : ConvOptions(stride: 2, padding: 1)
    conv = try Conv2d(loader["conv"], inChannels: channels, outChannels: channels, kernel: 3, options: options)
  }

  package func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) { conv(input, context) }
  }
}

/// Enlarges an image by repetition and a convolution; equals diffusers' `Upsample2D`.
package struct Upsample2D: Sendable {
  let name: String
  let conv: Conv2d

  package init(_ loader: ParameterLoader, channels: Int) throws(CheckpointError) {
    name = loader.name
    conv = try Conv2d(loader["conv"], inChannels: channels, outChannels: channels, kernel: 3, options: ConvOptions(padding: 1))
  }

  /// Doubles `[N, H, W, C]`, or enlarges it to the height and width of `target`, which odd sizes need on their way up.
  package func callAsFunction(_ input: Tensor, target: Shape? = nil, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      guard let target, target[1] != 2 * input.shape[1] || target[2] != 2 * input.shape[2] else {
        return context.kernels.conv2d(
          input, after: ConvInputStage(enlarges: true), weight: conv.weight, options: conv.options, bias: conv.bias,
          imageBias: nil, residual: nil)
      }
      return conv(input.nearestResized(height: target[1], width: target[2]), context)
    }
  }
}

extension Tensor {
  /// `[N, H, W, C]` at another size, each pixel the nearest one above and left; equals `interpolate(size:, mode="nearest")`.
  func nearestResized(height: Int, width: Int) -> Tensor {
    let (images, oldHeight, oldWidth, channels) = (shape[0], shape[1], shape[2], shape[3])
    return Tensor(shape: [images, height, width, channels]) { target in
      withUnsafeBuffer { source in
        guard let to = target.baseAddress, let from = source.baseAddress else { return }
        for image in 0..<images {
          for row in 0..<height {
            for column in 0..<width {
              let pixel = (image * oldHeight + row * oldHeight / height) * oldWidth + column * oldWidth / width
              (to + ((image * height + row) * width + column) * channels).initialize(
                from: from + pixel * channels, count: channels)
            }
          }
        }
      }
    }
  }
}
