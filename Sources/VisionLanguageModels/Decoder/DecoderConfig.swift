public import Checkpoints
import Tensors

/// The families of language models that are run here, by their name in `general.architecture`.
public enum DecoderArchitecture: String, Sendable, Hashable, CaseIterable {
  /// Llama and its like, SmolLM2 and SmolVLM's language model among them.
  case llama
  /// Qwen2.
  case qwen2
  /// Qwen2-VL's language model: Qwen2 with multimodal rotary positions.
  case qwen2vl
}

/// The sizes of a decoder.
public struct DecoderConfig: Sendable, Hashable {
  /// Which two elements of a head turn together.
  public enum RotaryPairing: Sendable, Hashable {
    /// Neighbours `(2i, 2i + 1)`: llama, whose query and key rows the converter permuted to that end.
    case interleaved
    /// Halves `(i, i + D/2)`: Qwen2.
    case halves
  }

  /// The family.
  public var architecture: DecoderArchitecture
  /// Tokens that have an embedding.
  public var vocabularySize: Int
  /// Width of the hidden state.
  public var hiddenSize: Int
  /// Width inside the feed-forward layer.
  public var intermediateSize: Int
  /// Layers.
  public var layerCount: Int
  /// Heads of the query.
  public var headCount: Int
  /// Heads of key and value.
  public var keyValueHeadCount: Int
  /// Width of a head.
  public var headWidth: Int
  /// ε of the norms.
  public var rmsNormEpsilon: Float
  /// θ of the rotary positions.
  public var ropeBase: Double
  /// Which elements turn together.
  public var ropePairing: RotaryPairing
  /// Pairs that turn by time, row and column, in this order; nil when all turn by the one position.
  public var ropeSections: [Int]?
  /// The most tokens that the model was made for.
  public var contextLength: Int

  /// Reads the sizes from a GGUF file.
  ///
  /// - Throws: `CheckpointError` when the file is no language model of these families, or keys are absent or impossible.
  public init(_ file: GGUFFile) throws(CheckpointError) {
    switch ModelFileKind(file) {
    case .language(let architecture): self.architecture = architecture
    case .projector:
      throw CheckpointError(
        .invalid, file: file.location,
        "is a projector (an mmproj file), not a language model; give it as the projector (--mmproj) and the language model as "
          + "the model (--model)")
    case .other(let name):
      throw CheckpointError(
        .unsupported, file: file.location,
        "architecture: expected \(DecoderArchitecture.allCases.map(\.rawValue).joined(separator: ", ")), found '\(name)'")
    }
    let metadata = GGUFMetadata(file, prefix: architecture.rawValue + ".")
    let sizes = 1...(1 << 20)
    hiddenSize = try metadata.int("embedding_length", in: sizes)
    intermediateSize = try metadata.int("feed_forward_length", in: sizes)
    layerCount = try metadata.int("block_count", in: 1...1024)
    headCount = try metadata.int("attention.head_count", in: 1...4096)
    keyValueHeadCount = try metadata.optionalInt("attention.head_count_kv", in: 1...4096) ?? headCount
    contextLength = try metadata.int("context_length", in: 1...(1 << 24))
    rmsNormEpsilon = Float(try metadata.positive("attention.layer_norm_rms_epsilon"))
    ropeBase = try metadata.optionalPositive("rope.freq_base") ?? 10_000
    guard headCount % keyValueHeadCount == 0 else {
      throw metadata.invalid("\(headCount) query heads can't share \(keyValueHeadCount) key heads evenly")
    }
    guard hiddenSize % headCount == 0 || file.metadata["\(architecture.rawValue).attention.key_length"] != nil else {
      throw metadata.invalid("a width of \(hiddenSize) can't be cut into \(headCount) heads")
    }
    headWidth = try metadata.optionalInt("attention.key_length", in: 2...4096) ?? (hiddenSize / headCount)
    let valueWidth = try metadata.optionalInt("attention.value_length", in: 2...4096) ?? headWidth
    let ropeWidth = try metadata.optionalInt("rope.dimension_count", in: 2...4096) ?? headWidth
    guard headWidth % 2 == 0, valueWidth == headWidth, ropeWidth == headWidth else {
      throw CheckpointError(
        .unsupported, file: file.location,
        "heads of \(headWidth) (keys), \(valueWidth) (values) with \(ropeWidth) rotary elements: expected one even width for all")
    }
    ropePairing = architecture == .llama ? .interleaved : .halves
    if architecture == .qwen2vl {
      let width = headWidth
      guard let stored = file.metadata["qwen2vl.rope.dimension_sections"]?.ints, (3...4).contains(stored.count),
        stored.allSatisfy({ $0 >= 0 && $0 <= width }), stored.dropFirst(3).allSatisfy({ $0 == 0 }),
        stored.reduce(0, +) == headWidth / 2
      else {
        throw metadata.invalid(
          "key 'qwen2vl.rope.dimension_sections': expected 3 numbers (and a 0) that sum to half a head, \(headWidth / 2)")
      }
      ropeSections = Array(stored.prefix(3))
    }
    try Self.refuseUnsupported(metadata, architecture)
    guard let embedding = file.weight(named: "token_embd.weight"), embedding.shape.rank == 2 else {
      throw metadata.invalid("tensor 'token_embd.weight' is missing or no matrix; the file isn't a complete language model")
    }
    vocabularySize = embedding.shape[0]
  }

  /// What other models of the family have and this decoder doesn't do.
  private static func refuseUnsupported(_ metadata: GGUFMetadata, _ architecture: DecoderArchitecture) throws(CheckpointError) {
    func unsupported(_ message: String) -> CheckpointError {
      CheckpointError(.unsupported, file: metadata.file.location, message)
    }
    let scaling = try metadata.string("rope.scaling.type")
    // Without a type a factor scales linearly, as llama.cpp has it; 0 and 1 scale nothing.
    if scaling != "none" {
      for key in ["rope.scaling.factor", "rope.scale_linear"] {
        guard let stored = metadata.file.metadata[metadata.prefix + key] else { continue }
        guard let factor = stored.double, factor == 0 || factor == 1 else {
          throw unsupported("\(key): rotary positions that are scaled by \(stored.summary) aren't run here")
        }
      }
    }
    if let scaling, scaling != "none", scaling != "linear" {
      throw unsupported("rope.scaling.type: expected none, found '\(scaling)'")
    }
    if let experts = try metadata.optionalInt("expert_count", in: 0...(1 << 20)), experts > 0 {
      throw unsupported("a mixture of \(experts) experts isn't run here")
    }
    // The rest of the family's keys: those that change nothing here, and those that change the network.
    let known: Set = [
      "vocab_size", "context_length", "embedding_length", "block_count", "feed_forward_length", "expert_count",
      "expert_used_count", "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length",
      "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "rope.freq_base", "rope.dimension_count",
      "rope.dimension_sections", "rope.scaling.type", "rope.scaling.factor", "rope.scale_linear", "rope.scaling.finetuned",
      "rope.scaling.original_context_length", "tensor_data_layout",
    ]
    for (key, value) in metadata.file.metadata where key.hasPrefix(metadata.prefix) {
      let name = String(key.dropFirst(metadata.prefix.count))
      if known.contains(name) { continue }
      switch (name, value) {
      case ("attention.causal", .bool(true)), ("use_parallel_residual", .bool(false)), (_, .integer(0)), (_, .number(0)): continue
      case ("attention.sliding_window", .integer(let window))
      where window >= (try metadata.int("context_length", in: 1...(1 << 24))):
        continue
      case ("rope.scaling.attn_factor", _) where value.double == 1: continue
      default:
        throw unsupported("key '\(key)': \(value.summary) isn't understood; the model may need what isn't run here")
      }
    }
  }
}
