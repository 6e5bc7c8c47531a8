import Checkpoints
import KernelContract
import Tensors

/// One layer of a decoder: grouped-query attention and a gated feed-forward, each after a norm and added to its input.
///
/// Touvron et al. 2023, arXiv:2302.13971; equals transformers' `LlamaDecoderLayer` and `Qwen2VLDecoderLayer`.
struct DecoderLayer: Sendable {
  private let index: Int
  private let attentionNorm: Tensor
  private let query: Linear
  private let key: Linear
  private let value: Linear
  private let output: Linear
  private let feedForwardNorm: Tensor
  private let gate: Linear
  private let up: Linear
  private let down: Linear
  private let epsilon: Float
  private let options: AttentionOptions

  init(_ weights: GGUFWeights, index: Int, config: DecoderConfig) throws(CheckpointError) {
    let name = "blk.\(index)."
    let hidden = config.hiddenSize
    let queryWidth = config.headCount * config.headWidth
    let keyWidth = config.keyValueHeadCount * config.headWidth
    // Qwen2's queries, keys and values have a bias; llama's don't.
    let hasBias = config.architecture == .llama ? nil : true
    self.index = index
    attentionNorm = try weights.tensor(name + "attn_norm.weight", [hidden])
    query = try weights.linear(name + "attn_q", from: hidden, to: queryWidth, bias: hasBias)
    key = try weights.linear(name + "attn_k", from: hidden, to: keyWidth, bias: hasBias)
    value = try weights.linear(name + "attn_v", from: hidden, to: keyWidth, bias: hasBias)
    output = try weights.linear(name + "attn_output", from: queryWidth, to: hidden)
    feedForwardNorm = try weights.tensor(name + "ffn_norm.weight", [hidden])
    gate = try weights.linear(name + "ffn_gate", from: hidden, to: config.intermediateSize)
    up = try weights.linear(name + "ffn_up", from: hidden, to: config.intermediateSize)
    down = try weights.linear(name + "ffn_down", from: config.intermediateSize, to: hidden)
    epsilon = config.rmsNormEpsilon
    options = AttentionOptions(
      headCount: config.headCount, keyValueHeadCount: config.keyValueHeadCount,
      scale: 1 / Float(config.headWidth).squareRoot())
  }

  /// Transforms `[1, T, D]`, whose tokens follow those of the cache, and puts their keys and values there.
  func callAsFunction(
    _ input: Tensor, rotary: RotaryEmbedding, angles: RotaryEmbedding.Angles, cache: inout KVCache, _ context: ExecutionContext
  ) -> Tensor {
    let kernels = context.kernels
    let tokens = input.shape[1]
    let normed = kernels.rmsNorm(input, weight: attentionNorm, epsilon: epsilon)
    var projected = kernels.linears(normed, [query.parameters, key.parameters, value.parameters])
    rotary.apply(angles, to: &projected[0])
    rotary.apply(angles, to: &projected[1])
    let queries = projected[0]
    cache.append(layer: index, key: projected[1], value: projected[2])
    var options = options
    options.causalOffset = cache.count
    let attended = cache.withEntries(layer: index, tokens: cache.count + tokens) { keys, values in
      kernels.attention(query: queries, key: keys, value: values, options: options)
    }
    let hidden = output(attended, context, residual: input)

    let normedAgain = kernels.rmsNorm(hidden, weight: feedForwardNorm, epsilon: epsilon)
    let gated = kernels.gatedLinear(normedAgain, gate: gate.parameters, up: up.parameters, activation: .silu)
    return down(gated, context, residual: hidden)
  }
}
