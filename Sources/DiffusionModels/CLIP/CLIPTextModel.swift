public import Checkpoints
public import KernelContract
public import Tensors

/// The text encoders CLIP-L, OpenCLIP-H and OpenCLIP-bigG; equals transformers' `CLIPTextModel` and
/// `CLIPTextModelWithProjection`.
public struct CLIPTextModel: Sendable {
  /// Everything that a pipeline may want of one pass.
  public struct Output: Sendable {
    /// The embeddings and the output of each layer, without the final norm: `layers + 1` tensors `[B, T, D]`.
    public var hiddenStates: [Tensor]
    /// The last layer after the final norm, `[B, T, D]`.
    public var lastHiddenState: Tensor
    /// `lastHiddenState` at the end mark, `[B, D]`; after the projection, `[B, projectionDim]`, where the model has one.
    public var pooled: Tensor
  }

  /// The configuration that the network was built from.
  public let config: CLIPTextModelConfig
  private let tokenEmbedding: WeightView
  private let positionEmbedding: Tensor
  private let layers: [CLIPEncoderLayer]
  private let finalNorm: LayerNorm
  private let projection: Linear?

  /// Builds the network.
  ///
  /// - Throws: `CheckpointError` when a parameter is absent or of another shape.
  public init(config: CLIPTextModelConfig, loader: ParameterLoader) throws(CheckpointError) {
    self.config = config
    let model = loader["text_model"]
    tokenEmbedding = try model.weight("embeddings.token_embedding.weight", [config.vocabSize, config.hiddenSize])
    positionEmbedding = try model.tensor(
      "embeddings.position_embedding.weight", [config.maxPositionEmbeddings, config.hiddenSize])
    let sizes = CLIPEncoderSizes(
      hiddenSize: config.hiddenSize, intermediateSize: config.intermediateSize, headCount: config.numAttentionHeads,
      epsilon: Float(config.layerNormEps), activation: config.hiddenAct.kernelActivation, isCausal: true)
    var layers: [CLIPEncoderLayer] = []
    for index in 0..<config.numHiddenLayers {
      layers.append(try CLIPEncoderLayer(model["encoder.layers.\(index)"], sizes: sizes))
    }
    self.layers = layers
    finalNorm = try LayerNorm(model["final_layer_norm"], features: config.hiddenSize, epsilon: Float(config.layerNormEps))
    projection =
      config.hasProjection
      ? try Linear(
        loader["text_projection"], inFeatures: config.hiddenSize, outFeatures: config.projectionDim, hasBias: false) : nil
  }

  /// Encodes prompts of equal length.
  ///
  /// - Parameter ids: Token ids of each prompt, at most `maxPositionEmbeddings`, each below `vocabSize`.
  /// - Throws: `CancelledError`.
  public func callAsFunction(_ ids: [[Int]], _ context: ExecutionContext) throws -> Output {
    let length = ids.first?.count ?? 0
    precondition(length <= config.maxPositionEmbeddings && ids.allSatisfy { $0.count == length })
    var hidden = embed(ids, length: length)
    context.observe("text_model.embeddings", hidden)
    var states = [hidden]
    for layer in layers {
      hidden = try layer(hidden, context)
      states.append(hidden)
    }
    let last = finalNorm(hidden, context)
    context.observe("text_model.final_layer_norm", last)
    let width = config.hiddenSize
    var pooled = Tensor(shape: [ids.count, width]) { target in
      last.withUnsafeBuffer { source in
        for (row, sequence) in ids.enumerated() {
          let start = (row * length + endPosition(sequence)) * width
          _ = UnsafeMutableBufferPointer(rebasing: target[(row * width)...]).initialize(from: source[start..<(start + width)])
        }
      }
    }
    if let projection { pooled = projection(pooled, context) }
    return Output(hiddenStates: states, lastHiddenState: last, pooled: pooled)
  }

  /// The final norm alone: for pipelines that stop at an earlier layer.
  public func finalNormed(_ hidden: Tensor, _ context: ExecutionContext) -> Tensor { finalNorm(hidden, context) }

  /// Token plus position embeddings, `[B, T, D]`.
  private func embed(_ ids: [[Int]], length: Int) -> Tensor {
    let width = config.hiddenSize
    return Tensor(shape: [ids.count, length, width]) { target in
      guard let base = target.baseAddress else { return }
      positionEmbedding.withUnsafeBuffer { positions in
        for (row, sequence) in ids.enumerated() {
          for (position, id) in sequence.enumerated() {
            precondition(id >= 0 && id < config.vocabSize, "token id \(id) of a vocabulary of \(config.vocabSize)")
            let output = base + (row * length + position) * width
            tokenEmbedding.dequantize(elements: (id * width)..<((id + 1) * width), into: output)
            for column in 0..<width { output[column] += positions[position * width + column] }
          }
        }
      }
    }
  }

  /// Where the prompt ends: the first largest id for configurations that carry the historical `eos_token_id` 2, else the
  /// first end mark (transformers pull request 24773).
  private func endPosition(_ ids: [Int]) -> Int {
    if config.eosTokenId == 2 {
      return ids.indices.max { (ids[$0], -$0) < (ids[$1], -$1) } ?? 0
    }
    return ids.firstIndex(of: config.eosTokenId) ?? 0
  }
}
