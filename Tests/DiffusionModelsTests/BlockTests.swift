import Checkpoints
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing

@testable import DiffusionModels

/// The parts of the networks against diffusers.
struct BlockTests {
  struct Config<Value: Decodable>: Decodable { var config: Value }

  struct Sinusoid: Decodable {
    var dim: Int
    var flip_sin_to_cos: Bool
    var freq_shift: Int
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/timesteps").filter { $0.op == "timesteps" })
  func sinusoids(_ golden: GoldenCase) throws {
    let config = try golden.attributes(Config<Sinusoid>.self).config
    let values = try golden.tensor("input.timesteps").elements
    let actual = sinusoidalEmbedding(
      values, dimension: config.dim, flipSinToCos: config.flip_sin_to_cos, frequencyShift: Float(config.freq_shift))
    try golden.expect(actual, "output.embedding")
  }

  struct Embedding: Decodable {
    var in_channels: Int
    var time_embed_dim: Int
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/timesteps").filter { $0.op == "timestepEmbedding" }, KernelChoice.allCases)
  func timestepEmbedding(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<Embedding>.self).config
    let layer = try TimestepEmbedding(
      golden.loader(kernels), inFeatures: config.in_channels, outFeatures: config.time_embed_dim)
    try golden.expect(layer(golden.tensor("input.sample"), ExecutionContext(kernels: kernels)), "output.sample")
  }

  struct Resnet: Decodable {
    var in_channels: Int
    var out_channels: Int
    var groups: Int
    var eps: Double
    var temb_channels: Int?
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/resnet"), KernelChoice.allCases)
  func resnetBlock2D(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<Resnet>.self).config
    let block = try ResnetBlock2D(
      golden.loader(kernels), inChannels: config.in_channels, outChannels: config.out_channels,
      timeChannels: config.temb_channels, groupCount: config.groups, epsilon: Float(config.eps))
    let time = config.temb_channels == nil ? nil : kernels.activate(try golden.tensor("input.temb"), .silu)
    let output = try block(
      golden.tensor("input.sample").channelsLast(), activatedTime: time, ExecutionContext(kernels: kernels))
    try golden.expect(output.channelsFirst(), "output.sample")
  }

  struct Sampling: Decodable {
    var channels: Int
    var padding: Int?
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/downsample"), KernelChoice.allCases)
  func downsample2D(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<Sampling>.self).config
    let layer = try Downsample2D(golden.loader(kernels), channels: config.channels, padsRightAndBottomOnly: config.padding == 0)
    let output = try layer(golden.tensor("input.sample").channelsLast(), ExecutionContext(kernels: kernels))
    try golden.expect(output.channelsFirst(), "output.sample")
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/upsample"), KernelChoice.allCases)
  func upsample2D(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<Sampling>.self).config
    let layer = try Upsample2D(golden.loader(kernels), channels: config.channels)
    let expected = try golden.tensor("output.sample").shape
    let output = try layer(
      golden.tensor("input.sample").channelsLast(), target: [expected[0], expected[2], expected[3], expected[1]],
      ExecutionContext(kernels: kernels))
    try golden.expect(output.channelsFirst(), "output.sample")
  }

  struct TransformerBlock: Decodable {
    var dim: Int
    var num_attention_heads: Int
    var cross_attention_dim: Int
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/transformer-block"), KernelChoice.allCases)
  func basicTransformerBlock(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<TransformerBlock>.self).config
    let block = try BasicTransformerBlock(
      golden.loader(kernels), channels: config.dim, crossAttentionDim: config.cross_attention_dim,
      headCount: config.num_attention_heads)
    let output = try block(
      golden.tensor("input.hidden_states"), encoderHiddenStates: golden.tensor("input.encoder_hidden_states"),
      ExecutionContext(kernels: kernels))
    try golden.expect(output, "output.sample")
  }

  struct Transformer: Decodable {
    var num_attention_heads: Int
    var in_channels: Int
    var num_layers: Int
    var cross_attention_dim: Int
    var norm_num_groups: Int
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/transformer-2d"), KernelChoice.allCases)
  func transformer2DModel(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<Transformer>.self).config
    let model = try Transformer2DModel(
      golden.loader(kernels), channels: config.in_channels, layerCount: config.num_layers,
      crossAttentionDim: config.cross_attention_dim, headCount: config.num_attention_heads, groupCount: config.norm_num_groups)
    let output = try model(
      golden.tensor("input.hidden_states").channelsLast(), encoderHiddenStates: golden.tensor("input.encoder_hidden_states"),
      ExecutionContext(kernels: kernels))
    try golden.expect(output.channelsFirst(), "output.sample")
  }

  struct VAEAttention: Decodable {
    var channels: Int
    var norm_num_groups: Int
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-attention"), KernelChoice.allCases)
  func vaeAttention(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let config = try golden.attributes(Config<VAEAttention>.self).config
    let block = try AttentionBlock(golden.loader(kernels), channels: config.channels, groupCount: config.norm_num_groups)
    let output = try block(golden.tensor("input.sample").channelsLast(), ExecutionContext(kernels: kernels))
    try golden.expect(output.channelsFirst(), "output.sample")
  }
}
