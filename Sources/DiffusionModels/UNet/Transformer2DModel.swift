package import Checkpoints
package import KernelContract
package import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Multi-head attention with biasless projections to queries, keys and values; equals diffusers' `Attention`.
struct Attention: Sendable {
  private let toQuery: Linear
  private let toKey: Linear
  private let toValue: Linear
  private let toOut: Linear
  private let options: AttentionOptions

  init(_ loader: ParameterLoader, channels: Int, contextChannels: Int, headCount: Int) throws(CheckpointError) {
    toQuery = try Linear(loader["to_q"], inFeatures: channels, outFeatures: channels, hasBias: false)
    toKey = try Linear(loader["to_k"], inFeatures: contextChannels, outFeatures: channels, hasBias: false)
    toValue = try Linear(loader["to_v"], inFeatures: contextChannels, outFeatures: channels, hasBias: false)
    toOut = try Linear(loader["to_out.0"], inFeatures: channels, outFeatures: channels)
    options = AttentionOptions(headCount: headCount, scale: 1 / Float(channels / headCount).squareRoot())
  }

  /// Attends from `input` `[B, T, C]` to `source` `[B, S, contextChannels]` and adds `residual`.
  func callAsFunction(_ input: Tensor, source: Tensor, residual: Tensor, _ context: ExecutionContext) -> Tensor {
    let attended = context.kernels.attention(
      query: toQuery(input, context), key: toKey(source, context), value: toValue(source, context), options: options)
    return toOut(attended, context, residual: residual)
  }
}

/// Self-attention, cross-attention and a GEGLU feed-forward, each behind a norm and with a residual; equals diffusers'
/// `BasicTransformerBlock`.
package struct BasicTransformerBlock: Sendable {
  private let name: String
  private let norm1: LayerNorm
  private let attention1: Attention
  private let norm2: LayerNorm
  private let attention2: Attention
  private let norm3: LayerNorm
  private let gate: GatedLinear
  private let project: Linear

  package init(_ loader: ParameterLoader, channels: Int, crossAttentionDim: Int, headCount: Int) throws(CheckpointError) {
    name = loader.name
    norm1 = try LayerNorm(loader["norm1"], features: channels, epsilon: 1e-5)
    attention1 = try Attention(loader["attn1"], channels: channels, contextChannels: channels, headCount: headCount)
    norm2 = try LayerNorm(loader["norm2"], features: channels, epsilon: 1e-5)
    attention2 = try Attention(loader["attn2"], channels: channels, contextChannels: crossAttentionDim, headCount: headCount)
    norm3 = try LayerNorm(loader["norm3"], features: channels, epsilon: 1e-5)
    gate = try GatedLinear(loader["ff.net.0.proj"], inFeatures: channels, outFeatures: 4 * channels)
    project = try Linear(loader["ff.net.2"], inFeatures: 4 * channels, outFeatures: channels)
  }

  /// Transforms `[B, T, C]` under the text `[B, S, crossAttentionDim]`.
  package func callAsFunction(_ input: Tensor, encoderHiddenStates: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      var hidden = input
      let normed = norm1(hidden, context)
      hidden = attention1(normed, source: normed, residual: hidden, context)
      hidden = attention2(norm2(hidden, context), source: encoderHiddenStates, residual: hidden, context)
      return project(gate(norm3(hidden, context), context), context, residual: hidden)
    }
  }
}

/// A stack of transformer blocks over the pixels of an image; equals diffusers' `Transformer2DModel`.
///
/// Its projections are linear layers or 1×1 convolutions: the same thing on channels-last pixels.
package struct Transformer2DModel: Sendable {
  private let name: String
  private let norm: GroupNorm
  private let projectIn: Linear
  private let blocks: [BasicTransformerBlock]
  private let projectOut: Linear

  package init(
    _ loader: ParameterLoader, channels: Int, layerCount: Int, crossAttentionDim: Int, headCount: Int, groupCount: Int
  ) throws(CheckpointError) {
    name = loader.name
    norm = try GroupNorm(loader["norm"], channels: channels, groupCount: groupCount, epsilon: 1e-6)
    projectIn = try Linear(loader["proj_in"], inFeatures: channels, outFeatures: channels)
    var blocks: [BasicTransformerBlock] = []
    for index in 0..<layerCount {
      blocks.append(
        try BasicTransformerBlock(
          loader["transformer_blocks.\(index)"], channels: channels, crossAttentionDim: crossAttentionDim, headCount: headCount))
    }
    self.blocks = blocks
    projectOut = try Linear(loader["proj_out"], inFeatures: channels, outFeatures: channels)
  }

  /// Transforms `[N, H, W, C]` under the text `[N, S, crossAttentionDim]`.
  package func callAsFunction(_ input: Tensor, encoderHiddenStates: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      let (images, height, width, channels) = (input.shape[0], input.shape[1], input.shape[2], input.shape[3])
      var hidden = projectIn(norm(input, context), context).reshaped(to: [images, height * width, channels])
      for block in blocks { hidden = try block(hidden, encoderHiddenStates: encoderHiddenStates, context) }
      return projectOut(hidden.reshaped(to: input.shape), context, residual: input)
    }
  }
}
