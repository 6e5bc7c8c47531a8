import Checkpoints
import KernelContract
import Tensors

/// What one level of the UNet is built from.
struct UNetLevel {
  var resnetCount: Int
  var transformerLayers: Int?  // nil: no attention at this level
  var headCount: Int
  var timeChannels: Int
  var crossAttentionDim: Int
  var groupCount: Int
  var epsilon: Float

  func transformer(_ loader: ParameterLoader, channels: Int) throws(CheckpointError) -> Transformer2DModel? {
    guard let transformerLayers else { return nil }
    return try Transformer2DModel(
      loader, channels: channels, layerCount: transformerLayers, crossAttentionDim: crossAttentionDim, headCount: headCount,
      groupCount: groupCount)
  }

  func resnet(_ loader: ParameterLoader, inChannels: Int, outChannels: Int) throws(CheckpointError) -> ResnetBlock2D {
    try ResnetBlock2D(
      loader, inChannels: inChannels, outChannels: outChannels, timeChannels: timeChannels, groupCount: groupCount,
      epsilon: epsilon)
  }
}

/// What every block of a UNet sees beside its input.
struct UNetConditioning {
  /// SiLU of the time embedding, `[N, timeChannels]`.
  var activatedTime: Tensor
  /// The text, `[N, S, crossAttentionDim]`.
  var encoderHiddenStates: Tensor
}

/// Diffusers' `DownBlock2D`, and `CrossAttnDownBlock2D` when the level has attention.
struct DownBlock2D: Sendable {
  private let resnets: [ResnetBlock2D]
  private let attentions: [Transformer2DModel]
  private let downsampler: Downsample2D?

  init(
    _ loader: ParameterLoader, level: UNetLevel, inChannels: Int, outChannels: Int, downsamples: Bool
  ) throws(CheckpointError) {
    var resnets: [ResnetBlock2D] = []
    var attentions: [Transformer2DModel] = []
    for index in 0..<level.resnetCount {
      resnets.append(
        try level.resnet(
          loader["resnets.\(index)"], inChannels: index == 0 ? inChannels : outChannels, outChannels: outChannels))
      if let attention = try level.transformer(loader["attentions.\(index)"], channels: outChannels) {
        attentions.append(attention)
      }
    }
    self.resnets = resnets
    self.attentions = attentions
    downsampler =
      downsamples
      ? try Downsample2D(loader["downsamplers.0"], channels: outChannels, padsRightAndBottomOnly: false) : nil
  }

  /// Runs the level and appends every output to `skips`, as the up path wants them.
  func callAsFunction(
    _ input: Tensor, conditioning: UNetConditioning, skips: inout [Tensor], _ context: ExecutionContext
  ) throws -> Tensor {
    var hidden = input
    for (index, resnet) in resnets.enumerated() {
      hidden = try resnet(hidden, activatedTime: conditioning.activatedTime, context)
      if !attentions.isEmpty {
        hidden = try attentions[index](hidden, encoderHiddenStates: conditioning.encoderHiddenStates, context)
      }
      skips.append(hidden)
    }
    if let downsampler {
      hidden = try downsampler(hidden, context)
      skips.append(hidden)
    }
    return hidden
  }
}

/// Diffusers' `UNetMidBlock2DCrossAttn`: a resnet, then attention and resnet.
struct UNetMidBlock2DCrossAttn: Sendable {
  private let resnets: [ResnetBlock2D]
  private let attention: Transformer2DModel?

  init(_ loader: ParameterLoader, level: UNetLevel, channels: Int) throws(CheckpointError) {
    resnets = [
      try level.resnet(loader["resnets.0"], inChannels: channels, outChannels: channels),
      try level.resnet(loader["resnets.1"], inChannels: channels, outChannels: channels),
    ]
    attention = try level.transformer(loader["attentions.0"], channels: channels)
  }

  func callAsFunction(_ input: Tensor, conditioning: UNetConditioning, _ context: ExecutionContext) throws -> Tensor {
    var hidden = try resnets[0](input, activatedTime: conditioning.activatedTime, context)
    if let attention {
      hidden = try attention(hidden, encoderHiddenStates: conditioning.encoderHiddenStates, context)
    }
    return try resnets[1](hidden, activatedTime: conditioning.activatedTime, context)
  }
}

/// Diffusers' `UpBlock2D`, and `CrossAttnUpBlock2D` when the level has attention.
struct UpBlock2D: Sendable {
  private let resnets: [ResnetBlock2D]
  private let attentions: [Transformer2DModel]
  private let upsampler: Upsample2D?

  /// Builds the level.
  ///
  /// - Parameters:
  ///   - inChannels: Channels of the mirrored down level's input, which its oldest skip connection has.
  ///   - previousChannels: Channels that come from the level below.
  init(
    _ loader: ParameterLoader, level: UNetLevel, inChannels: Int, previousChannels: Int, outChannels: Int, upsamples: Bool
  ) throws(CheckpointError) {
    var resnets: [ResnetBlock2D] = []
    var attentions: [Transformer2DModel] = []
    for index in 0..<level.resnetCount {
      let skipChannels = index == level.resnetCount - 1 ? inChannels : outChannels
      let hiddenChannels = index == 0 ? previousChannels : outChannels
      resnets.append(
        try level.resnet(loader["resnets.\(index)"], inChannels: hiddenChannels + skipChannels, outChannels: outChannels))
      if let attention = try level.transformer(loader["attentions.\(index)"], channels: outChannels) {
        attentions.append(attention)
      }
    }
    self.resnets = resnets
    self.attentions = attentions
    upsampler = upsamples ? try Upsample2D(loader["upsamplers.0"], channels: outChannels) : nil
  }

  /// Runs the level, taking its skip connections from the end of `skips`.
  func callAsFunction(
    _ input: Tensor, conditioning: UNetConditioning, skips: inout [Tensor], _ context: ExecutionContext
  ) throws -> Tensor {
    var hidden = input
    for (index, resnet) in resnets.enumerated() {
      hidden = context.kernels.concatenateChannels([hidden, skips.removeLast()])
      hidden = try resnet(hidden, activatedTime: conditioning.activatedTime, context)
      if !attentions.isEmpty {
        hidden = try attentions[index](hidden, encoderHiddenStates: conditioning.encoderHiddenStates, context)
      }
    }
    return try upsampler.map { try $0(hidden, target: skips.last?.shape, context) } ?? hidden
  }
}
