import Checkpoints
import KernelContract
import Tensors

extension CLIPActivation {
  /// The kernel's name of the activation.
  var kernelActivation: Activation {
    switch self {
    case .quickGELU: .quickGelu
    case .gelu: .gelu
    }
  }
}

/// Sizes of a CLIP transformer, text or vision.
struct CLIPEncoderSizes {
  var hiddenSize: Int
  var intermediateSize: Int
  var headCount: Int
  var epsilon: Float
  var activation: Activation
  var isCausal: Bool
}

/// One pre-norm transformer layer; equals transformers' `CLIPEncoderLayer`.
///
/// Radford et al. 2021, arXiv:2103.00020.
struct CLIPEncoderLayer: Sendable {
  private let name: String
  private let norm1: LayerNorm
  private let query: Linear
  private let key: Linear
  private let value: Linear
  private let out: Linear
  private let norm2: LayerNorm
  private let expand: Linear
  private let contract: Linear
  private let activation: Activation
  private let options: AttentionOptions

  init(_ loader: ParameterLoader, sizes: CLIPEncoderSizes) throws(CheckpointError) {
    name = loader.name
    let hidden = sizes.hiddenSize
    let attention = loader["self_attn"]
    norm1 = try LayerNorm(loader["layer_norm1"], features: hidden, epsilon: sizes.epsilon)
    query = try Linear(attention["q_proj"], inFeatures: hidden, outFeatures: hidden)
    key = try Linear(attention["k_proj"], inFeatures: hidden, outFeatures: hidden)
    value = try Linear(attention["v_proj"], inFeatures: hidden, outFeatures: hidden)
    out = try Linear(attention["out_proj"], inFeatures: hidden, outFeatures: hidden)
    norm2 = try LayerNorm(loader["layer_norm2"], features: hidden, epsilon: sizes.epsilon)
    expand = try Linear(loader["mlp.fc1"], inFeatures: hidden, outFeatures: sizes.intermediateSize)
    contract = try Linear(loader["mlp.fc2"], inFeatures: sizes.intermediateSize, outFeatures: hidden)
    activation = sizes.activation
    options = AttentionOptions(
      headCount: sizes.headCount, scale: 1 / Float(hidden / sizes.headCount).squareRoot(), causalOffset: sizes.isCausal ? 0 : nil)
  }

  /// Transforms `[B, T, D]`.
  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) throws -> Tensor {
    try context.block(name) {
      let normed = norm1(input, context)
      let attended = context.kernels.attention(
        query: query(normed, context), key: key(normed, context), value: value(normed, context), options: options)
      let hidden = out(attended, context, residual: input)
      return contract(expand(norm2(hidden, context), context, activation: activation), context, residual: hidden)
    }
  }
}
