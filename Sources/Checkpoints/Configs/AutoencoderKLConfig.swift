/// Sizes and choices of an `AutoencoderKL`: the `vae/config.json` of a diffusers folder.
///
/// Source: huggingface/diffusers 0.42 `models/autoencoders/autoencoder_kl.py`.
public struct AutoencoderKLConfig: Sendable, Hashable {
  /// Channels of the images.
  public var inChannels: Int
  /// Channels of the decoded images.
  public var outChannels: Int
  /// Channels per level, from the full resolution downward.
  public var blockOutChannels: [Int]
  /// Resnets per encoder block; decoder blocks have one more.
  public var layersPerBlock: Int
  /// Channels of the latents.
  public var latentChannels: Int
  /// Groups of every group normalisation (epsilon 1e-6).
  public var normNumGroups: Int
  /// Height and width of the images that the model was trained at, in pixels.
  public var sampleSize: Int
  /// What the sampled latents are multiplied with: 0.18215 for SD1 and SD2, 0.13025 for SDXL.
  public var scalingFactor: Double
  /// Whether decoding overflows half precision; harmless where everything is summed in `Float`.
  public var forceUpcast: Bool
  /// Whether a 1x1 convolution follows the encoder.
  public var useQuantConv: Bool
  /// Whether a 1x1 convolution precedes the decoder.
  public var usePostQuantConv: Bool
  /// Whether the middle blocks have an attention.
  public var midBlockAddAttention: Bool

  /// Pixels per latent in each direction: 2 for each halving.
  public var scaleFactor: Int { 1 << (blockOutChannels.count - 1) }

  /// Reads a `config.json`; keys that it doesn't know are ignored.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` or `.unsupported`.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    try reader.require("act_fn", isOneOf: ["silu", "swish"])
    for key in ["shift_factor", "latents_mean", "latents_std"] { try reader.require(key, isOneOf: []) }
    try reader.require("down_block_types", isOneOf: ["DownEncoderBlock2D"])
    try reader.require("up_block_types", isOneOf: ["UpDecoderBlock2D"])

    inChannels = try reader.int("in_channels", default: 3)
    outChannels = try reader.int("out_channels", default: 3)
    blockOutChannels = try reader.ints("block_out_channels", default: [64])
    guard blockOutChannels.count <= 8 else { throw reader.unsupported("block_out_channels", supported: "up to 8 levels") }
    for key in ["down_block_types", "up_block_types"] {
      guard (reader.value(key)?.array?.count ?? 1) == blockOutChannels.count else {
        throw reader.invalid(key, expected: "\(blockOutChannels.count) blocks, one for each of block_out_channels")
      }
    }
    layersPerBlock = try reader.int("layers_per_block", default: 1)
    latentChannels = try reader.int("latent_channels", default: 4)
    normNumGroups = try reader.int("norm_num_groups", default: 32)
    sampleSize = try reader.int("sample_size", default: 32)
    scalingFactor = try reader.double("scaling_factor", default: 0.18215)
    guard scalingFactor > 0 else { throw reader.invalid("scaling_factor", expected: "a positive number") }
    forceUpcast = try reader.bool("force_upcast", default: true)
    useQuantConv = try reader.bool("use_quant_conv", default: true)
    usePostQuantConv = try reader.bool("use_post_quant_conv", default: true)
    midBlockAddAttention = try reader.bool("mid_block_add_attention", default: true)
    guard blockOutChannels.allSatisfy({ $0 % normNumGroups == 0 }) else {
      throw reader.invalid("block_out_channels", expected: "multiples of norm_num_groups (\(normNumGroups))")
    }
  }
}

extension AutoencoderKLConfig: Codable {
  /// The configuration as diffusers writes it.
  public var json: JSONValue {
    let levels = blockOutChannels.count
    return [
      "_class_name": "AutoencoderKL",
      "act_fn": "silu",
      "block_out_channels": .array(blockOutChannels.map { .integer($0) }),
      "down_block_types": .array(Array(repeating: "DownEncoderBlock2D", count: levels)),
      "force_upcast": .bool(forceUpcast),
      "in_channels": .integer(inChannels),
      "latent_channels": .integer(latentChannels),
      "layers_per_block": .integer(layersPerBlock),
      "mid_block_add_attention": .bool(midBlockAddAttention),
      "norm_num_groups": .integer(normNumGroups),
      "out_channels": .integer(outChannels),
      "sample_size": .integer(sampleSize),
      "scaling_factor": .number(scalingFactor),
      "up_block_types": .array(Array(repeating: "UpDecoderBlock2D", count: levels)),
      "use_post_quant_conv": .bool(usePostQuantConv),
      "use_quant_conv": .bool(useQuantConv),
    ]
  }

  /// Reads it from any decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(json: JSONValue(from: decoder), file: "vae configuration")
  }

  /// Writes it as diffusers does.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
