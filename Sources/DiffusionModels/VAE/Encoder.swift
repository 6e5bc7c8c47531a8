import Checkpoints
import KernelContract
import Tensors

/// Image to moments of the latents; equals the `Encoder` of diffusers' `AutoencoderKL`.
struct Encoder: Sendable {
  private let convIn: Conv2d
  private let downBlocks: [DownEncoderBlock2D]
  private let midBlock: UNetMidBlock2D
  private let normOut: GroupNorm
  private let convOut: Conv2d

  init(config: AutoencoderKLConfig, loader: ParameterLoader) throws(CheckpointError) {
    let channels = config.blockOutChannels
    let levelCount = channels.count
    convIn = try Conv2d(
      loader["conv_in"], inChannels: config.inChannels, outChannels: channels[0], kernel: 3, options: ConvOptions(padding: 1))
    var blocks: [DownEncoderBlock2D] = []
    for index in 0..<levelCount {
      blocks.append(
        try DownEncoderBlock2D(
          loader["down_blocks.\(index)"], resnetCount: config.layersPerBlock,
          inChannels: index == 0 ? channels[0] : channels[index - 1], outChannels: channels[index],
          groupCount: config.normNumGroups, downsamples: index < levelCount - 1))
    }
    downBlocks = blocks
    midBlock = try UNetMidBlock2D(
      loader["mid_block"], channels: channels[levelCount - 1], groupCount: config.normNumGroups,
      hasAttention: config.midBlockAddAttention)
    normOut = try GroupNorm(
      loader["conv_norm_out"], channels: channels[levelCount - 1], groupCount: config.normNumGroups, epsilon: 1e-6)
    convOut = try Conv2d(
      loader["conv_out"], inChannels: channels[levelCount - 1], outChannels: 2 * config.latentChannels, kernel: 3,
      options: ConvOptions(padding: 1))
  }

  /// `[N, H, W, 3]` to `[N, h, w, 2 · latentChannels]`.
  func callAsFunction(_ image: Tensor, memory: MapMemory, _ context: ExecutionContext) throws -> Tensor {
    var hidden = try convIn.recipe(RowMap(image), context).kept(isLast: true, memory, context)
    try context.observe("encoder.conv_in", hidden)
    for block in downBlocks { hidden = try block(hidden, memory: memory, context) }
    let middle = try midBlock(hidden.joined(context), context)
    return try context.block("encoder.conv_out") { convOut(middle, context, after: normOut) }
  }
}
