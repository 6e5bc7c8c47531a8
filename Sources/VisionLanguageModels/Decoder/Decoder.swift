public import Checkpoints
public import KernelContract
public import Tensors

/// A language model: token embeddings, decoder layers, a norm, and a head that gives the logits of the next token.
///
/// Weights stay as they lie in the file.
public struct Decoder: Sendable {
  /// The sizes.
  public let config: DecoderConfig
  private let embedding: WeightView
  private let layers: [DecoderLayer]
  private let outputNorm: Tensor
  private let head: Linear
  private let rotary: RotaryEmbedding

  /// Tokens that go through the layers at once; longer prompts are cut.
  public static let batchSize = 256

  /// Builds the network.
  ///
  /// - Throws: `CheckpointError` when the file is of another kind, or a weight is absent or of another shape.
  public init(_ file: GGUFFile, kernels: any KernelSet) throws(CheckpointError) {
    let config = try DecoderConfig(file)
    let weights = GGUFWeights(source: file, kernels: kernels)
    self.config = config
    embedding = try weights.view("token_embd.weight", [config.vocabularySize, config.hiddenSize])
    var layers: [DecoderLayer] = []
    for index in 0..<config.layerCount { layers.append(try DecoderLayer(weights, index: index, config: config)) }
    self.layers = layers
    outputNorm = try weights.tensor("output_norm.weight", [config.hiddenSize])
    // Without a head of its own, the embedding is the head (tied weights).
    let headName = file.weight(named: "output.weight") == nil ? "token_embd" : "output"
    head = try weights.linear(headName, from: config.hiddenSize, to: config.vocabularySize)
    let hasDivisors = file.weight(named: "rope_freqs.weight") != nil
    rotary = RotaryEmbedding(
      config, divisors: hasDivisors ? try weights.tensor("rope_freqs.weight", [config.headWidth / 2]) : nil)
    try weights.requireAllUsed()
  }

  /// The embeddings of tokens, `[1, T, D]`.
  ///
  /// - Precondition: every id is in the vocabulary.
  public func embeddings(of ids: some Collection<Int>) -> Tensor {
    let width = config.hiddenSize
    precondition(ids.allSatisfy { $0 >= 0 && $0 < config.vocabularySize }, "an id is outside the vocabulary")
    return Tensor(shape: [1, ids.count, width]) { target in
      guard let base = target.baseAddress else { return }
      for (row, id) in ids.enumerated() {
        embedding.dequantize(elements: (id * width)..<((id + 1) * width), into: base + row * width)
      }
    }
  }

  /// Takes tokens in, in batches, and gives the logits of what follows the last one.
  ///
  /// - Parameters:
  ///   - embeddings: `[1, T, D]`, T at least 1.
  ///   - positions: T positions.
  ///   - cache: Room for T more tokens.
  /// - Returns: `[vocabularySize]`.
  /// - Throws: `CancelledError`; the cache can't be used any further then.
  public func prefill(
    _ embeddings: Tensor, positions: [TokenPosition], cache: inout KVCache, _ context: ExecutionContext
  ) throws -> Tensor {
    let total = embeddings.shape[1]
    precondition(total >= 1 && positions.count == total, "\(positions.count) positions for \(total) tokens")
    let rows = embeddings.reshaped(to: [total, config.hiddenSize])
    var last = rows
    for start in stride(from: 0, to: total, by: Self.batchSize) {
      let range = start..<min(total, start + Self.batchSize)
      let batch = rows.slice(range).reshaped(to: [1, range.count, config.hiddenSize])
      last = try hiddenStates(batch, positions: positions[range], cache: &cache, context)
    }
    let count = last.shape[1]
    let final = last.reshaped(to: [count, config.hiddenSize]).slice((count - 1)..<count)
    return logits(final, context).reshaped(to: [config.vocabularySize])
  }

  /// The logits after every token of a sequence, `[T, vocabularySize]`; for comparisons.
  public func allLogits(
    _ embeddings: Tensor, positions: [TokenPosition], cache: inout KVCache, _ context: ExecutionContext
  ) throws -> Tensor {
    let hidden = try hiddenStates(embeddings, positions: positions[...], cache: &cache, context)
    return logits(hidden.reshaped(to: [hidden.shape[1], config.hiddenSize]), context)
  }

  private func hiddenStates(
    _ embeddings: Tensor, positions: ArraySlice<TokenPosition>, cache: inout KVCache, _ context: ExecutionContext
  ) throws -> Tensor {
    let angles = rotary.angles(positions)
    var hidden = embeddings
    for layer in layers {
      try context.cancellation.check()
      hidden = layer(hidden, rotary: rotary, angles: angles, cache: &cache, context)
    }
    cache.advance(by: embeddings.shape[1])
    return hidden
  }

  private func logits(_ hidden: Tensor, _ context: ExecutionContext) -> Tensor {
    head(context.kernels.rmsNorm(hidden, weight: outputNorm, epsilon: config.rmsNormEpsilon), context)
  }
}
