public import Checkpoints
public import KernelContract
public import Tensors

/// The denoiser of Stable Diffusion 1.5, 2.0 and XL, driven by its configuration; equals diffusers' `UNet2DConditionModel`.
///
/// Rombach et al. 2022, arXiv:2112.10752; Podell et al. 2023, arXiv:2307.01952, for the size conditioning of XL.
public struct UNet2DConditionModel: Sendable {
  /// What XL is told beside the text.
  public struct AddedConditions: Sendable {
    /// Pooled text, `[N, pooledDim]`.
    public var textEmbeds: Tensor
    /// Original height and width, crop top and left, target height and width, for each image.
    public var timeIDs: [[Float]]

    /// Makes conditions.
    public init(textEmbeds: Tensor, timeIDs: [[Float]]) {
      self.textEmbeds = textEmbeds
      self.timeIDs = timeIDs
    }
  }

  /// The configuration that the network was built from.
  public let config: UNet2DConditionModelConfig
  private let convIn: Conv2d
  private let timeEmbedding: TimestepEmbedding
  private let addEmbedding: TimestepEmbedding?
  private let downBlocks: [DownBlock2D]
  private let midBlock: UNetMidBlock2DCrossAttn
  private let upBlocks: [UpBlock2D]
  private let normOut: GroupNorm
  private let convOut: Conv2d

  /// Builds the network.
  ///
  /// - Throws: `CheckpointError` when a parameter is absent or of another shape.
  public init(config: UNet2DConditionModelConfig, loader: ParameterLoader) throws(CheckpointError) {
    self.config = config
    let channels = config.blockOutChannels
    let levelCount = channels.count
    let timeChannels = 4 * channels[0]
    func level(_ index: Int, hasAttention: Bool, resnetCount: Int) -> UNetLevel {
      UNetLevel(
        resnetCount: resnetCount, transformerLayers: hasAttention ? config.transformerLayersPerBlock[index] : nil,
        headCount: config.attentionHeadDim[index], timeChannels: timeChannels,
        crossAttentionDim: config.crossAttentionDim, groupCount: config.normNumGroups, epsilon: Float(config.normEps))
    }

    convIn = try Conv2d(
      loader["conv_in"], inChannels: config.inChannels, outChannels: channels[0], kernel: 3, options: ConvOptions(padding: 1))
    timeEmbedding = try TimestepEmbedding(loader["time_embedding"], inFeatures: channels[0], outFeatures: timeChannels)
    if config.additionEmbedType == .textTime, let inFeatures = config.projectionClassEmbeddingsInputDim {
      addEmbedding = try TimestepEmbedding(loader["add_embedding"], inFeatures: inFeatures, outFeatures: timeChannels)
    } else {
      addEmbedding = nil
    }

    var downBlocks: [DownBlock2D] = []
    for index in 0..<levelCount {
      downBlocks.append(
        try DownBlock2D(
          loader["down_blocks.\(index)"],
          level: level(
            index, hasAttention: config.downBlockTypes[index] == .crossAttnDownBlock2D, resnetCount: config.layersPerBlock[index]),
          inChannels: index == 0 ? channels[0] : channels[index - 1], outChannels: channels[index],
          downsamples: index < levelCount - 1))
    }
    self.downBlocks = downBlocks

    midBlock = try UNetMidBlock2DCrossAttn(
      loader["mid_block"], level: level(levelCount - 1, hasAttention: true, resnetCount: 2),
      channels: channels[levelCount - 1])

    var upBlocks: [UpBlock2D] = []
    for index in 0..<levelCount {
      let mirrored = levelCount - 1 - index
      upBlocks.append(
        try UpBlock2D(
          loader["up_blocks.\(index)"],
          level: level(
            mirrored, hasAttention: config.upBlockTypes[index] == .crossAttnUpBlock2D,
            resnetCount: config.layersPerBlock[mirrored] + 1),
          inChannels: channels[max(mirrored - 1, 0)], previousChannels: channels[min(mirrored + 1, levelCount - 1)],
          outChannels: channels[mirrored], upsamples: index < levelCount - 1))
    }
    self.upBlocks = upBlocks

    normOut = try GroupNorm(
      loader["conv_norm_out"], channels: channels[0], groupCount: config.normNumGroups, epsilon: Float(config.normEps))
    convOut = try Conv2d(
      loader["conv_out"], inChannels: channels[0], outChannels: config.outChannels, kernel: 3, options: ConvOptions(padding: 1))
  }

  /// Predicts the noise (or v, or the sample) in latents.
  ///
  /// - Parameters:
  ///   - sample: `[N, inChannels, h, w]`.
  ///   - timestep: The same for all N.
  ///   - encoderHiddenStates: Text, `[N, S, crossAttentionDim]`.
  ///   - added: For XL.
  /// - Returns: `[N, outChannels, h, w]`.
  /// - Throws: `CancelledError`.
  public func callAsFunction(
    _ sample: Tensor, timestep: Double, encoderHiddenStates: Tensor, added: AddedConditions? = nil, _ context: ExecutionContext
  ) throws -> Tensor {
    let images = sample.shape[0]
    let kernels = context.kernels
    let conditioning = UNetConditioning(
      activatedTime: kernels.activate(
        timeFeatures(images: images, timestep: timestep, added: added, context), .silu),
      encoderHiddenStates: encoderHiddenStates)

    var hidden = try context.block("conv_in") { convIn(sample.channelsLast(), context) }
    var skips = [hidden]
    for block in downBlocks { hidden = try block(hidden, conditioning: conditioning, skips: &skips, context) }
    hidden = try midBlock(hidden, conditioning: conditioning, context)
    for block in upBlocks { hidden = try block(hidden, conditioning: conditioning, skips: &skips, context) }
    return try context.block("conv_out") { convOut(hidden, context, after: normOut) }.channelsFirst()
  }

  /// The time embedding, plus the size and text embedding of XL: `[N, timeChannels]`.
  private func timeFeatures(images: Int, timestep: Double, added: AddedConditions?, _ context: ExecutionContext) -> Tensor {
    let sinusoid = sinusoidalEmbedding(
      Array(repeating: Float(timestep), count: images), dimension: config.blockOutChannels[0],
      flipSinToCos: config.flipSinToCos, frequencyShift: Float(config.freqShift))
    var features = timeEmbedding(sinusoid, context)
    context.observe("time_embedding", features)
    guard let addEmbedding, let added, let sizeFeatures = config.additionTimeEmbedDim else { return features }
    let sizes = sinusoidalEmbedding(
      added.timeIDs.flatMap { $0 }, dimension: sizeFeatures, flipSinToCos: config.flipSinToCos,
      frequencyShift: Float(config.freqShift)
    ).reshaped(to: [images, (added.timeIDs.first?.count ?? 0) * sizeFeatures])
    let embedded = addEmbedding(Tensor.concatenatedLastAxis([added.textEmbeds, sizes]), context)
    context.observe("add_embedding", embedded)
    features = context.kernels.add(features, embedded)
    return features
  }
}
