/// Sizes and choices of a `UNet2DConditionModel`: the `unet/config.json` of a diffusers folder.
///
/// Lists have one entry for each down level; the up path walks them backwards, the middle block takes the last.
/// Source: huggingface/diffusers 0.42 `models/unets/unet_2d_condition.py`.
public struct UNet2DConditionModelConfig: Sendable, Hashable {
  /// The kinds of down blocks.
  public enum DownBlockType: String, Sendable, Hashable, CaseIterable {
    case crossAttnDownBlock2D = "CrossAttnDownBlock2D"
    case downBlock2D = "DownBlock2D"
  }

  /// The kinds of up blocks.
  public enum UpBlockType: String, Sendable, Hashable, CaseIterable {
    case crossAttnUpBlock2D = "CrossAttnUpBlock2D"
    case upBlock2D = "UpBlock2D"
  }

  /// What is added to the time embedding.
  public enum AdditionEmbedType: String, Sendable, Hashable {
    /// SDXL: sinusoids of six sizes beside the pooled prompt embedding.
    case textTime = "text_time"
  }

  /// Height and width of the latents that the model was trained at; nil when the file doesn't say.
  public var sampleSize: Int?
  /// Channels of the input latents.
  public var inChannels: Int
  /// Channels of the prediction.
  public var outChannels: Int
  /// Whether the timestep sinusoids come as [cos | sin] rather than [sin | cos].
  public var flipSinToCos: Bool
  /// Shift of the sinusoids' frequencies.
  public var freqShift: Int
  /// Down blocks, from the full resolution downward.
  public var downBlockTypes: [DownBlockType]
  /// Up blocks, from the lowest resolution upward.
  public var upBlockTypes: [UpBlockType]
  /// Channels per level.
  public var blockOutChannels: [Int]
  /// Resnets per down block, one entry a level; up blocks have one more.
  public var layersPerBlock: [Int]
  /// Groups of every group normalisation.
  public var normNumGroups: Int
  /// Epsilon of the resnets' group normalisations and of `conv_norm_out` (the transformers use 1e-6).
  public var normEps: Double
  /// Features of the encoder's hidden states.
  public var crossAttentionDim: Int
  /// Transformer layers in each attention, per level.
  public var transformerLayersPerBlock: [Int]
  /// Attention **heads** per level, in spite of its name: diffusers keeps the misnomer for old files (diffusers #2011).
  public var attentionHeadDim: [Int]
  /// Whether `proj_in` and `proj_out` of the transformers are linear layers (SD2, XL) rather than 1x1 convolutions.
  public var useLinearProjection: Bool
  /// Whether attention scores want more than half precision; harmless where everything is summed in `Float`.
  public var upcastAttention: Bool
  /// What is added to the time embedding, if anything.
  public var additionEmbedType: AdditionEmbedType?
  /// Features of each added sinusoid; set when `additionEmbedType` is.
  public var additionTimeEmbedDim: Int?
  /// Features that go into `add_embedding`: pooled features plus six sinusoids; set when `additionEmbedType` is.
  public var projectionClassEmbeddingsInputDim: Int?

  /// Features of the time embedding: four times the first level's channels.
  public var timeEmbedDim: Int { blockOutChannels[0] * 4 }

  /// Latent heights and widths must be multiples of this: 2 for each halving.
  public var sizeMultiple: Int { 1 << (blockOutChannels.count - 1) }

  // Features of the class that aren't built; every value but these is refused.
  private static let fixed: [(key: String, allowed: [JSONValue])] = [
    ("center_input_sample", [false]), ("mid_block_type", ["UNetMidBlock2DCrossAttn"]), ("only_cross_attention", [false]),
    ("downsample_padding", [1]), ("mid_block_scale_factor", [1]), ("act_fn", ["silu", "swish"]), ("encoder_hid_dim", []),
    ("encoder_hid_dim_type", []), ("dual_cross_attention", [false]), ("class_embed_type", []), ("num_class_embeds", []),
    ("resnet_time_scale_shift", ["default"]), ("resnet_skip_time_act", [false]), ("resnet_out_scale_factor", [1]),
    ("time_embedding_type", ["positional"]), ("time_embedding_dim", []), ("time_embedding_act_fn", []),
    ("timestep_post_act", []), ("time_cond_proj_dim", []), ("conv_in_kernel", [3]), ("conv_out_kernel", [3]),
    ("attention_type", ["default"]), ("class_embeddings_concat", [false]), ("mid_block_only_cross_attention", [false]),
    ("cross_attention_norm", []), ("reverse_transformer_layers_per_block", []),
  ]

  /// Reads a `config.json`; keys that it doesn't know are ignored.
  ///
  /// - Parameters:
  ///   - json: The parsed file.
  ///   - file: What messages call it.
  /// - Throws: ``CheckpointError`` `.invalid` for values of the wrong kind or that contradict each other, `.unsupported` for
  ///   features of the class that aren't built.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    for (key, allowed) in Self.fixed { try reader.require(key, isOneOf: allowed) }

    downBlockTypes = try reader.names(
      "down_block_types", default: [.crossAttnDownBlock2D, .crossAttnDownBlock2D, .crossAttnDownBlock2D, .downBlock2D])
    upBlockTypes = try reader.names(
      "up_block_types", default: [.upBlock2D, .crossAttnUpBlock2D, .crossAttnUpBlock2D, .crossAttnUpBlock2D])
    let levels = downBlockTypes.count
    guard levels <= 8 else { throw reader.unsupported("down_block_types", supported: "up to 8 blocks") }
    guard upBlockTypes.count == levels else { throw reader.invalid("up_block_types", expected: "\(levels) blocks, one a level") }
    let attentionDown = downBlockTypes.map { $0 == .crossAttnDownBlock2D }
    let attentionUp = upBlockTypes.map { $0 == .crossAttnUpBlock2D }
    guard attentionUp == attentionDown.reversed() else {
      throw reader.unsupported("up_block_types", supported: "cross attention at the levels where down_block_types has it")
    }

    sampleSize = reader.value("sample_size")?.array?.first?.int
    if sampleSize == nil { sampleSize = try reader.optionalInt("sample_size") }
    inChannels = try reader.int("in_channels", default: 4)
    outChannels = try reader.int("out_channels", default: 4)
    flipSinToCos = try reader.bool("flip_sin_to_cos", default: true)
    freqShift = try reader.int("freq_shift", default: 0, minimum: 0)
    blockOutChannels = try reader.ints("block_out_channels", default: [320, 640, 1280, 1280])
    guard blockOutChannels.count == levels else {
      throw reader.invalid("block_out_channels", expected: "\(levels) numbers, one a level")
    }
    layersPerBlock = try reader.ints("layers_per_block", default: 2, count: levels)
    normNumGroups = try reader.int("norm_num_groups", default: 32)
    normEps = try reader.double("norm_eps", default: 1e-5)
    let crossDims = try reader.ints("cross_attention_dim", default: 1280, count: levels)
    guard let crossDim = crossDims.first, crossDims.allSatisfy({ $0 == crossDim }) else {
      throw reader.unsupported("cross_attention_dim", supported: "one size for all levels")
    }
    crossAttentionDim = crossDim
    if reader.value("transformer_layers_per_block")?.array?.contains(where: { $0.array != nil }) == true {
      throw reader.unsupported("transformer_layers_per_block", supported: "a number, or a number a level")
    }
    transformerLayersPerBlock = try reader.ints("transformer_layers_per_block", default: 1, count: levels)
    let headKey = reader.value("num_attention_heads") == nil ? "attention_head_dim" : "num_attention_heads"
    attentionHeadDim = try reader.ints(headKey, default: 8, count: levels)
    useLinearProjection = try reader.bool("use_linear_projection", default: false)
    upcastAttention = try reader.bool("upcast_attention", default: false)

    additionEmbedType = nil
    if let name = reader.value("addition_embed_type") {
      guard let type = name.string.flatMap({ AdditionEmbedType(rawValue: $0) }) else {
        throw reader.unsupported("addition_embed_type", supported: "text_time, or leaving it out")
      }
      additionEmbedType = type
    }
    additionTimeEmbedDim = try reader.optionalInt("addition_time_embed_dim")
    projectionClassEmbeddingsInputDim = try reader.optionalInt("projection_class_embeddings_input_dim")
    if additionEmbedType == .textTime {
      guard let timeDim = additionTimeEmbedDim else {
        throw reader.invalid("addition_time_embed_dim", expected: "a whole number, as addition_embed_type is text_time")
      }
      guard let inputDim = projectionClassEmbeddingsInputDim, inputDim > 6 * timeDim else {
        throw reader.invalid(
          "projection_class_embeddings_input_dim", expected: "more than 6 x \(timeDim), as addition_embed_type is text_time")
      }
    }

    for (level, channels) in blockOutChannels.enumerated() {
      guard channels % normNumGroups == 0 else {
        throw reader.invalid("block_out_channels", expected: "multiples of norm_num_groups (\(normNumGroups))")
      }
      guard !attentionDown[level] && level != levels - 1 || channels % attentionHeadDim[level] == 0 else {
        throw reader.invalid(
          headKey, expected: "a number of heads that divides the level's channels (\(channels) at level \(level))")
      }
    }
  }
}

extension UNet2DConditionModelConfig: Codable {
  /// The configuration as diffusers writes it.
  public var json: JSONValue {
    var members: [String: JSONValue] = [
      "_class_name": "UNet2DConditionModel",
      "act_fn": "silu",
      "attention_head_dim": .array(attentionHeadDim.map { .integer($0) }),
      "block_out_channels": .array(blockOutChannels.map { .integer($0) }),
      "cross_attention_dim": .integer(crossAttentionDim),
      "down_block_types": .array(downBlockTypes.map { .string($0.rawValue) }),
      "flip_sin_to_cos": .bool(flipSinToCos),
      "freq_shift": .integer(freqShift),
      "in_channels": .integer(inChannels),
      "layers_per_block": Set(layersPerBlock).count == 1
        ? .integer(layersPerBlock[0]) : .array(layersPerBlock.map { .integer($0) }),
      "norm_eps": .number(normEps),
      "norm_num_groups": .integer(normNumGroups),
      "out_channels": .integer(outChannels),
      "transformer_layers_per_block": .array(transformerLayersPerBlock.map { .integer($0) }),
      "up_block_types": .array(upBlockTypes.map { .string($0.rawValue) }),
      "upcast_attention": .bool(upcastAttention),
      "use_linear_projection": .bool(useLinearProjection),
    ]
    members["sample_size"] = sampleSize.map { .integer($0) }
    members["addition_embed_type"] = additionEmbedType.map { .string($0.rawValue) }
    members["addition_time_embed_dim"] = additionTimeEmbedDim.map { .integer($0) }
    members["projection_class_embeddings_input_dim"] = projectionClassEmbeddingsInputDim.map { .integer($0) }
    return .object(members)
  }

  /// Reads it from any decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(json: JSONValue(from: decoder), file: "unet configuration")
  }

  /// Writes it as diffusers does.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
