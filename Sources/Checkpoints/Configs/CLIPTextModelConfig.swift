/// The activations of CLIP's feed-forward layers.
public enum CLIPActivation: String, Sendable, Hashable, CaseIterable {
  /// `x * sigmoid(1.702 x)`: OpenAI's CLIP.
  case quickGELU = "quick_gelu"
  /// The exact GELU, with erf: OpenCLIP.
  case gelu
}

extension ConfigReader {
  /// CLIP's `hidden_act`.
  func clipActivation() throws(CheckpointError) -> CLIPActivation {
    let name = try string("hidden_act", default: CLIPActivation.quickGELU.rawValue)
    guard let activation = CLIPActivation(rawValue: name) else {
      throw unsupported("hidden_act", supported: CLIPActivation.allCases.map(\.rawValue).joined(separator: " or "))
    }
    return activation
  }

  /// Refuses a hidden size that the heads don't divide.
  func requireWholeHeads(hiddenSize: Int, heads: Int) throws(CheckpointError) {
    guard hiddenSize % heads == 0 else {
      throw invalid("num_attention_heads", expected: "a number of heads that divides hidden_size (\(hiddenSize))")
    }
  }
}

/// Sizes and choices of a `CLIPTextModel` or `CLIPTextModelWithProjection`: a `text_encoder/config.json`.
///
/// Source: huggingface/transformers `models/clip/configuration_clip.py`.
public struct CLIPTextModelConfig: Sendable, Hashable {
  /// Rows of the token embedding.
  public var vocabSize: Int
  /// Features of a token.
  public var hiddenSize: Int
  /// Features inside the feed-forward layers.
  public var intermediateSize: Int
  /// Features after `text_projection`; meaningless without it.
  public var projectionDim: Int
  /// Whether the model has a `text_projection` (the class `CLIPTextModelWithProjection`).
  public var hasProjection: Bool
  /// Transformer layers.
  public var numHiddenLayers: Int
  /// Attention heads.
  public var numAttentionHeads: Int
  /// Rows of the position embedding: the most tokens of a prompt.
  public var maxPositionEmbeddings: Int
  /// The feed-forward activation.
  public var hiddenAct: CLIPActivation
  /// Epsilon of the layer normalisations.
  public var layerNormEps: Double
  /// The id that ends a prompt; 2 is an old mistake that means "the place of the largest id".
  public var eosTokenId: Int

  /// Reads a `config.json`; keys that it doesn't know are ignored.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` or `.unsupported`.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    vocabSize = try reader.int("vocab_size", default: 49408)
    hiddenSize = try reader.int("hidden_size", default: 512)
    intermediateSize = try reader.int("intermediate_size", default: 2048)
    projectionDim = try reader.int("projection_dim", default: 512)
    hasProjection = reader.value("architectures")?.array?.contains("CLIPTextModelWithProjection") ?? false
    numHiddenLayers = try reader.int("num_hidden_layers", default: 12)
    numAttentionHeads = try reader.int("num_attention_heads", default: 8)
    maxPositionEmbeddings = try reader.int("max_position_embeddings", default: 77)
    hiddenAct = try reader.clipActivation()
    layerNormEps = try reader.double("layer_norm_eps", default: 1e-5)
    eosTokenId = try reader.int("eos_token_id", default: 49407, minimum: 0)
    try reader.requireWholeHeads(hiddenSize: hiddenSize, heads: numAttentionHeads)
  }
}

extension CLIPTextModelConfig: Codable {
  /// The configuration as transformers writes it.
  public var json: JSONValue {
    [
      "architectures": [hasProjection ? "CLIPTextModelWithProjection" : "CLIPTextModel"],
      "bos_token_id": 49406,
      "eos_token_id": .integer(eosTokenId),
      "hidden_act": .string(hiddenAct.rawValue),
      "hidden_size": .integer(hiddenSize),
      "intermediate_size": .integer(intermediateSize),
      "layer_norm_eps": .number(layerNormEps),
      "max_position_embeddings": .integer(maxPositionEmbeddings),
      "model_type": "clip_text_model",
      "num_attention_heads": .integer(numAttentionHeads),
      "num_hidden_layers": .integer(numHiddenLayers),
      "projection_dim": .integer(projectionDim),
      "vocab_size": .integer(vocabSize),
    ]
  }

  /// Reads it from any decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(json: JSONValue(from: decoder), file: "text encoder configuration")
  }

  /// Writes it as transformers does.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
