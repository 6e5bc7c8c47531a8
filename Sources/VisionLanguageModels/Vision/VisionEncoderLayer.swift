import Checkpoints
import KernelContract
import Tensors

/// One layer of a vision tower: attention over all patches and a feed-forward, each after a norm and added to its input.
///
/// Dosovitskiy et al. 2021, arXiv:2010.11929; equals transformers' `Idefics3EncoderLayer` and `Qwen2VLVisionBlock`.
struct VisionEncoderLayer: Sendable {
  private let norm1: LayerNorm
  private let query: Linear
  private let key: Linear
  private let value: Linear
  private let output: Linear
  private let norm2: LayerNorm
  private let expand: Linear
  private let contract: Linear
  private let activation: Activation
  private let options: AttentionOptions

  init(_ weights: GGUFWeights, index: Int, config: VisionConfig, activation: Activation) throws(CheckpointError) {
    let name = "v.blk.\(index)."
    let width = config.hiddenSize
    norm1 = try weights.layerNorm(name + "ln1", width: width, epsilon: config.layerNormEpsilon)
    query = try weights.linear(name + "attn_q", from: width, to: width, bias: true)
    key = try weights.linear(name + "attn_k", from: width, to: width, bias: true)
    value = try weights.linear(name + "attn_v", from: width, to: width, bias: true)
    output = try weights.linear(name + "attn_out", from: width, to: width, bias: true)
    norm2 = try weights.layerNorm(name + "ln2", width: width, epsilon: config.layerNormEpsilon)
    // Files made before llama.cpp's spring of 2025 have the two names swapped; the shapes tell.
    let down = weights.source.weight(named: name + "ffn_down.weight")
    let isSwapped = down.map { $0.shape.rank == 2 && $0.shape[1] == width && $0.shape[0] != width } ?? false
    let (first, second) = isSwapped ? ("ffn_down", "ffn_up") : ("ffn_up", "ffn_down")
    let inner = weights.source.weight(named: name + first + ".weight").map { $0.shape.rank == 2 ? $0.shape[0] : 1 } ?? 1
    expand = try weights.linear(name + first, from: width, to: inner, bias: true)
    contract = try weights.linear(name + second, from: inner, to: width, bias: true)
    self.activation = activation
    options = AttentionOptions(headCount: config.headCount, scale: 1 / Float(width / config.headCount).squareRoot())
  }

  /// Transforms `[B, T, D]`; `rotate` turns queries and keys where the tower has rotary positions.
  ///
  /// - Throws: `CancelledError`.
  func callAsFunction(_ input: Tensor, _ context: ExecutionContext, rotate: (inout Tensor) -> Void = { _ in }) throws -> Tensor {
    try context.cancellation.check()
    let normed = norm1(input, context)
    var queries = query(normed, context)
    var keys = key(normed, context)
    rotate(&queries)
    rotate(&keys)
    let attended = context.kernels.attention(query: queries, key: keys, value: value(normed, context), options: options)
    let hidden = output(attended, context, residual: input)
    return contract(expand(norm2(hidden, context), context, activation: activation), context, residual: hidden)
  }
}
