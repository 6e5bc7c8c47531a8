import Checkpoints
import KernelContract
import Tensors

/// Latents to image; equals the `Decoder` of diffusers' `AutoencoderKL`.
struct Decoder: Sendable {
  private let convIn: Conv2d
  private let midBlock: UNetMidBlock2D
  private let upBlocks: [UpDecoderBlock2D]
  private let normOut: GroupNorm
  private let convOut: Conv2d

  init(config: AutoencoderKLConfig, loader: ParameterLoader) throws(CheckpointError) {
    let channels = Array(config.blockOutChannels.reversed())
    convIn = try Conv2d(
      loader["conv_in"], inChannels: config.latentChannels, outChannels: channels[0], kernel: 3, options: ConvOptions(padding: 1))
    midBlock = try UNetMidBlock2D(
      loader["mid_block"], channels: channels[0], groupCount: config.normNumGroups, hasAttention: config.midBlockAddAttention)
    var blocks: [UpDecoderBlock2D] = []
    for index in channels.indices {
      blocks.append(
        try UpDecoderBlock2D(
          loader["up_blocks.\(index)"], resnetCount: config.layersPerBlock + 1,
          inChannels: index == 0 ? channels[0] : channels[index - 1], outChannels: channels[index],
          groupCount: config.normNumGroups, upsamples: index < channels.count - 1))
    }
    upBlocks = blocks
    normOut = try GroupNorm(
      loader["conv_norm_out"], channels: channels[channels.count - 1], groupCount: config.normNumGroups, epsilon: 1e-6)
    convOut = try Conv2d(
      loader["conv_out"], inChannels: channels[channels.count - 1], outChannels: config.outChannels, kernel: 3,
      options: ConvOptions(padding: 1))
  }

  /// `[N, h, w, latentChannels]` to `[N, H, W, 3]`.
  func callAsFunction(_ latents: Tensor, memory: MapMemory, _ context: ExecutionContext) throws -> Tensor {
    let first = try context.block("decoder.conv_in") { convIn(latents, context) }
    var hidden = RowMap(try midBlock(first, context))
    for block in upBlocks { hidden = try block(hidden, memory: memory, context) }
    return try context.block("decoder.conv_out") { try convOut.joined(hidden, after: normOut, memory: memory, context) }
  }
}
