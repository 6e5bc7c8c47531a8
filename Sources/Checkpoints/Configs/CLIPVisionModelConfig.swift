/// Sizes and choices of a `CLIPVisionModel`: the `vision_config` of a safety checker.
///
/// Source: huggingface/transformers `models/clip/configuration_clip.py`.
public struct CLIPVisionModelConfig: Sendable, Hashable {
  /// Features of a patch.
  public var hiddenSize: Int
  /// Features inside the feed-forward layers.
  public var intermediateSize: Int
  /// Transformer layers.
  public var numHiddenLayers: Int
  /// Attention heads.
  public var numAttentionHeads: Int
  /// Channels of the image.
  public var numChannels: Int
  /// Height and width of the image in pixels.
  public var imageSize: Int
  /// Height and width of a patch in pixels.
  public var patchSize: Int
  /// The feed-forward activation.
  public var hiddenAct: CLIPActivation
  /// Epsilon of the layer normalisations.
  public var layerNormEps: Double

  /// Rows of the position embedding: the patches and the class token.
  public var positionCount: Int { (imageSize / patchSize) * (imageSize / patchSize) + 1 }

  /// Reads the object; keys that it doesn't know are ignored.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` or `.unsupported`.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file, prefix: "vision_config.")
    hiddenSize = try reader.int("hidden_size", default: 768)
    intermediateSize = try reader.int("intermediate_size", default: 3072)
    numHiddenLayers = try reader.int("num_hidden_layers", default: 12)
    numAttentionHeads = try reader.int("num_attention_heads", default: 12)
    numChannels = try reader.int("num_channels", default: 3)
    imageSize = try reader.int("image_size", default: 224)
    patchSize = try reader.int("patch_size", default: 32)
    hiddenAct = try reader.clipActivation()
    layerNormEps = try reader.double("layer_norm_eps", default: 1e-5)
    try reader.requireWholeHeads(hiddenSize: hiddenSize, heads: numAttentionHeads)
    guard patchSize <= imageSize, imageSize <= 1 << 14 else {
      throw reader.invalid("patch_size", expected: "at most image_size (\(imageSize)), which is at most 16384")
    }
  }
}

extension CLIPVisionModelConfig: Codable {
  /// The configuration as transformers writes it.
  public var json: JSONValue {
    [
      "hidden_act": .string(hiddenAct.rawValue),
      "hidden_size": .integer(hiddenSize),
      "image_size": .integer(imageSize),
      "intermediate_size": .integer(intermediateSize),
      "layer_norm_eps": .number(layerNormEps),
      "model_type": "clip_vision_model",
      "num_attention_heads": .integer(numAttentionHeads),
      "num_channels": .integer(numChannels),
      "num_hidden_layers": .integer(numHiddenLayers),
      "patch_size": .integer(patchSize),
    ]
  }

  /// Reads it from any decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(json: JSONValue(from: decoder), file: "vision configuration")
  }

  /// Writes it as transformers does.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// Sizes of a `StableDiffusionSafetyChecker`: the `safety_checker/config.json` of a diffusers folder.
///
/// Source: huggingface/diffusers 0.42 `pipelines/stable_diffusion/safety_checker.py`.
public struct StableDiffusionSafetyCheckerConfig: Sendable, Hashable {
  /// The image encoder.
  public var visionConfig: CLIPVisionModelConfig
  /// Features of the concept embeddings.
  public var projectionDim: Int

  /// Reads a `config.json`; keys that it doesn't know are ignored.
  ///
  /// As in transformers, an old `vision_config_dict` wins over `vision_config`.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` or `.unsupported`.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    let vision = reader.value("vision_config_dict") ?? reader.value("vision_config") ?? .object([:])
    visionConfig = try CLIPVisionModelConfig(json: vision, file: file)
    projectionDim = try reader.int("projection_dim", default: 512)
  }
}

extension StableDiffusionSafetyCheckerConfig: Codable {
  /// The configuration as diffusers writes it.
  public var json: JSONValue {
    [
      "architectures": ["StableDiffusionSafetyChecker"],
      "model_type": "clip",
      "projection_dim": .integer(projectionDim),
      "vision_config": visionConfig.json,
    ]
  }

  /// Reads it from any decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(json: JSONValue(from: decoder), file: "safety checker configuration")
  }

  /// Writes it as diffusers does.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
