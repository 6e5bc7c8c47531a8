package import Checkpoints
package import KernelContract
package import Tensors

/// Single-head self-attention over the pixels of an image, with biases and a residual; the attention of the VAE's middle.
package struct AttentionBlock: Sendable {
  private let name: String
  private let norm: GroupNorm
  private let toQuery: Linear
  private let toKey: Linear
  private let toValue: Linear
  private let toOut: Linear
  private let options: AttentionOptions

  package init(_ loader: ParameterLoader, channels: Int, groupCount: Int) throws(CheckpointError) {
    name = loader.name
    norm = try GroupNorm(loader["group_norm"], channels: channels, groupCount: groupCount, epsilon: 1e-6)
    toQuery = try Linear(loader["to_q"], inFeatures: channels, outFeatures: channels)
    toKey = try Linear(loader["to_k"], inFeatures: channels, outFeatures: channels)
    toValue = try Linear(loader["to_v"], inFeatures: channels, outFeatures: channels)
    toOut = try Linear(loader["to_out.0"], inFeatures: channels, outFeatures: channels)
    options = AttentionOptions(headCount: 1, scale: 1 / Float(channels).squareRoot())
  }

  /// Attends within each image of `[N, H, W, C]`.
  package func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      let (images, height, width, channels) = (input.shape[0], input.shape[1], input.shape[2], input.shape[3])
      let pixels = norm(input, context).reshaped(to: [images, height * width, channels])
      let attended = context.kernels.attention(
        query: toQuery(pixels, context), key: toKey(pixels, context), value: toValue(pixels, context), options: options)
      return toOut(attended.reshaped(to: input.shape), context, residual: input)
    }
  }
}

/// The middle of encoder and decoder: a resnet, attention, a resnet; equals diffusers' `UNetMidBlock2D`.
struct UNetMidBlock2D: Sendable {
  private let resnets: [ResnetBlock2D]
  private let attention: AttentionBlock?

  init(_ loader: ParameterLoader, channels: Int, groupCount: Int, hasAttention: Bool) throws(CheckpointError) {
    var resnets: [ResnetBlock2D] = []
    for index in 0..<2 {
      resnets.append(
        try ResnetBlock2D(
          loader["resnets.\(index)"], inChannels: channels, outChannels: channels, timeChannels: nil, groupCount: groupCount,
          epsilon: 1e-6))
    }
    self.resnets = resnets
    attention = hasAttention ? try AttentionBlock(loader["attentions.0"], channels: channels, groupCount: groupCount) : nil
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    var hidden = try resnets[0](input, activatedTime: nil, context)
    if let attention { hidden = try attention(hidden, context) }
    return try resnets[1](hidden, activatedTime: nil, context)
  }
}

/// One level of the encoder; equals diffusers' `DownEncoderBlock2D`.
struct DownEncoderBlock2D: Sendable {
  private let resnets: [ResnetBlock2D]
  private let downsampler: Downsample2D?

  init(
    _ loader: ParameterLoader, resnetCount: Int, inChannels: Int, outChannels: Int, groupCount: Int, downsamples: Bool
  ) throws(CheckpointError) {
    var resnets: [ResnetBlock2D] = []
    for index in 0..<resnetCount {
      resnets.append(
        try ResnetBlock2D(
          loader["resnets.\(index)"], inChannels: index == 0 ? inChannels : outChannels, outChannels: outChannels,
          timeChannels: nil, groupCount: groupCount, epsilon: 1e-6))
    }
    self.resnets = resnets
    downsampler =
      downsamples
      ? try Downsample2D(loader["downsamplers.0"], channels: outChannels, padsRightAndBottomOnly: true) : nil
  }

  /// Runs the level; the input is let go on the way.
  func callAsFunction(_ input: RowMap, memory: MapMemory, _ context: ExecutionContext) throws -> RowMap {
    var hidden = input
    for resnet in resnets { hidden = try resnet(hidden, memory: memory, context) }
    guard let downsampler else { return hidden }
    let result = try downsampler.conv.recipe(hidden, context).kept(isLast: true, memory, context)
    try context.observe(downsampler.name, result)
    return result
  }
}

/// One level of the decoder; equals diffusers' `UpDecoderBlock2D`.
struct UpDecoderBlock2D: Sendable {
  private let resnets: [ResnetBlock2D]
  private let upsampler: Upsample2D?

  init(
    _ loader: ParameterLoader, resnetCount: Int, inChannels: Int, outChannels: Int, groupCount: Int, upsamples: Bool
  ) throws(CheckpointError) {
    var resnets: [ResnetBlock2D] = []
    for index in 0..<resnetCount {
      resnets.append(
        try ResnetBlock2D(
          loader["resnets.\(index)"], inChannels: index == 0 ? inChannels : outChannels, outChannels: outChannels,
          timeChannels: nil, groupCount: groupCount, epsilon: 1e-6))
    }
    self.resnets = resnets
    upsampler = upsamples ? try Upsample2D(loader["upsamplers.0"], channels: outChannels) : nil
  }

  /// Runs the level; the input is let go on the way.
  ///
  /// With little memory the enlarged result is a recipe, and its readers compute it.
  func callAsFunction(_ input: RowMap, memory: MapMemory, _ context: ExecutionContext) throws -> RowMap {
    var hidden = input
    for resnet in resnets { hidden = try resnet(hidden, memory: memory, context) }
    guard let upsampler else { return hidden }
    var result = upsampler.conv.recipe(hidden, after: ConvInputStage(enlarges: true), context)
    if memory.allows(hidden.shape, result.shape) { result = try result.kept(isLast: true, memory, context) }
    try context.observe(upsampler.name, result)
    return result
  }
}
