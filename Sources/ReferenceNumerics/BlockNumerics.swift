import Checkpoints
import DiffusionModels
import Goldens
import KernelContract
import Tensors

/// One block of a network on the inputs and weights of a golden case.
struct BlockNumerics {
  let kernels: any KernelSet
  let golden: GoldenCase

  private struct Attributes: Decodable { var config: Config }

  /// The parameters of all kinds of block, by diffusers' names.
  private struct Config: Decodable {
    var dim: Int?
    var flip_sin_to_cos: Bool?
    var freq_shift: Int?
    var in_channels: Int?
    var out_channels: Int?
    var time_embed_dim: Int?
    var temb_channels: Int?
    var groups: Int?
    var eps: Double?
    var channels: Int?
    var padding: Int?
    var num_attention_heads: Int?
    var cross_attention_dim: Int?
    var num_layers: Int?
    var norm_num_groups: Int?
  }

  private func need<Value>(_ value: Value?, _ name: String) throws -> Value {
    guard let value else { throw GoldenMismatch(expected: "\(golden.id): the attribute \(name)", seen: "none") }
    return value
  }

  /// The result of the block; nil for one that isn't known.
  func outputs() throws -> [NumericOutput]? {
    let config = try golden.attributes(Attributes.self).config
    let weights = ReferenceNumerics.CaseWeights(file: try golden.tensors())
    let loader = ParameterLoader(FileParameters(weights), kernels: kernels)
    let context = ExecutionContext(kernels: kernels)
    func sample() throws -> Tensor { try golden.tensor("input.sample").channelsLast() }
    let output: Tensor
    switch golden.op {
    case "timesteps":
      let embedding = sinusoidalEmbedding(
        try golden.tensor("input.timesteps").elements, dimension: try need(config.dim, "dim"),
        flipSinToCos: try need(config.flip_sin_to_cos, "flip_sin_to_cos"),
        frequencyShift: Float(try need(config.freq_shift, "freq_shift")))
      return [NumericOutput("output.embedding", embedding)]
    case "timestepEmbedding":
      let layer = try TimestepEmbedding(
        loader, inFeatures: need(config.in_channels, "in_channels"), outFeatures: need(config.time_embed_dim, "time_embed_dim"))
      output = layer(try golden.tensor("input.sample"), context)
    case "resnetBlock2D":
      let block = try ResnetBlock2D(
        loader, inChannels: need(config.in_channels, "in_channels"), outChannels: need(config.out_channels, "out_channels"),
        timeChannels: config.temb_channels, groupCount: need(config.groups, "groups"), epsilon: Float(need(config.eps, "eps")))
      let time = config.temb_channels == nil ? nil : kernels.activate(try golden.tensor("input.temb"), .silu)
      output = try block(sample(), activatedTime: time, context).channelsFirst()
    case "downsample2D":
      let layer = try Downsample2D(
        loader, channels: need(config.channels, "channels"), padsRightAndBottomOnly: config.padding == 0)
      output = try layer(sample(), context).channelsFirst()
    case "upsample2D":
      let layer = try Upsample2D(loader, channels: need(config.channels, "channels"))
      let expected = try golden.tensor("output.sample").shape
      output = try layer(sample(), target: [expected[0], expected[2], expected[3], expected[1]], context).channelsFirst()
    case "basicTransformerBlock":
      let block = try BasicTransformerBlock(
        loader, channels: need(config.dim, "dim"), crossAttentionDim: need(config.cross_attention_dim, "cross_attention_dim"),
        headCount: need(config.num_attention_heads, "num_attention_heads"))
      output = try block(
        golden.tensor("input.hidden_states"), encoderHiddenStates: golden.tensor("input.encoder_hidden_states"), context)
    case "transformer2DModel":
      let model = try Transformer2DModel(
        loader, channels: need(config.in_channels, "in_channels"), layerCount: need(config.num_layers, "num_layers"),
        crossAttentionDim: need(config.cross_attention_dim, "cross_attention_dim"),
        headCount: need(config.num_attention_heads, "num_attention_heads"),
        groupCount: need(config.norm_num_groups, "norm_num_groups"))
      output = try model(
        golden.tensor("input.hidden_states").channelsLast(),
        encoderHiddenStates: golden.tensor("input.encoder_hidden_states"), context
      ).channelsFirst()
    case "vaeAttention":
      let block = try AttentionBlock(
        loader, channels: need(config.channels, "channels"), groupCount: need(config.norm_num_groups, "norm_num_groups"))
      output = try block(sample(), context).channelsFirst()
    default: return nil
    }
    return [NumericOutput("output.sample", output)]
  }
}
