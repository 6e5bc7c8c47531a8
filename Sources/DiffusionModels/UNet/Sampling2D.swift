import Checkpoints
import KernelContract
import Tensors

/// Halves an image by a strided convolution; equals diffusers' `Downsample2D`.
struct Downsample2D: Sendable {
  private let name: String
  private let conv: Conv2d

  /// Builds the layer; the UNet pads all sides by one, the VAE only the right and the bottom.
  init(_ loader: ParameterLoader, channels: Int, padsRightAndBottomOnly: Bool) throws(CheckpointError) {
    name = loader.name
    let options =
      padsRightAndBottomOnly ? ConvOptions(stride: 2, top: 0, bottom: 1, left: 0, right: 1) : ConvOptions(stride: 2, padding: 1)
    conv = try Conv2d(loader["conv"], inChannels: channels, outChannels: channels, kernel: 3, options: options)
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) { conv(input, context) }
  }
}

/// Doubles an image by repetition and a convolution; equals diffusers' `Upsample2D`.
struct Upsample2D: Sendable {
  private let name: String
  private let conv: Conv2d

  init(_ loader: ParameterLoader, channels: Int) throws(CheckpointError) {
    name = loader.name
    conv = try Conv2d(loader["conv"], inChannels: channels, outChannels: channels, kernel: 3, options: ConvOptions(padding: 1))
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) { conv(context.kernels.upsampleNearest2x(input), context) }
  }
}
