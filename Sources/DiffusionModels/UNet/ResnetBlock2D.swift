package import Checkpoints
package import KernelContract
package import Tensors

/// Norm, SiLU, convolution, twice, with the time embedding in between and a shortcut; equals diffusers' `ResnetBlock2D`.
package struct ResnetBlock2D: Sendable {
  let name: String
  let norm1: GroupNorm
  let conv1: Conv2d
  private let timeProjection: Linear?
  let norm2: GroupNorm
  let conv2: Conv2d
  let shortcut: Linear?

  /// Builds the block.
  ///
  /// - Parameters:
  ///   - timeChannels: Features of the time embedding; nil in the VAE, which has none.
  ///   - groupCount: Groups of both norms.
  ///   - epsilon: Of both norms: 1e-5 in the UNet, 1e-6 in the VAE.
  package init(
    _ loader: ParameterLoader, inChannels: Int, outChannels: Int, timeChannels: Int?, groupCount: Int, epsilon: Float
  ) throws(CheckpointError) {
    name = loader.name
    norm1 = try GroupNorm(loader["norm1"], channels: inChannels, groupCount: groupCount, epsilon: epsilon)
    conv1 = try Conv2d(
      loader["conv1"], inChannels: inChannels, outChannels: outChannels, kernel: 3, options: ConvOptions(padding: 1))
    if let timeChannels {
      timeProjection = try Linear(loader["time_emb_proj"], inFeatures: timeChannels, outFeatures: outChannels)
    } else {
      timeProjection = nil
    }
    norm2 = try GroupNorm(loader["norm2"], channels: outChannels, groupCount: groupCount, epsilon: epsilon)
    conv2 = try Conv2d(
      loader["conv2"], inChannels: outChannels, outChannels: outChannels, kernel: 3, options: ConvOptions(padding: 1))
    shortcut =
      inChannels == outChannels ? nil : try Linear(loader["conv_shortcut"], inFeatures: inChannels, outFeatures: outChannels)
  }

  /// Runs the block.
  ///
  /// - Parameters:
  ///   - input: `[N, H, W, Cin]`.
  ///   - activatedTime: SiLU of the time embedding, `[N, timeChannels]`; the same for all blocks, so computed once.
  /// - Returns: `[N, H, W, Cout]`.
  package func callAsFunction(_ input: Tensor, activatedTime: Tensor?, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      let imageBias = activatedTime.flatMap { time in timeProjection.map { $0(time, context) } }
      let hidden = conv1(input, context, after: norm1, imageBias: imageBias)
      // A 1×1 convolution of channels-last pixels is a linear layer.
      let residual = shortcut.map { $0(input, context) } ?? input
      return conv2(hidden, context, after: norm2, residual: residual)
    }
  }
}
