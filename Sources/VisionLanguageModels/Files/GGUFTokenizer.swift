public import Checkpoints
public import Tokenizers

extension ByteLevelBPETokenizer {
  /// Makes the tokenizer that a GGUF's `tokenizer.ggml.*` keys describe.
  ///
  /// - Throws: `CheckpointError` when keys are absent or of another kind, `TokenizerError` when they contradict each other.
  public init(gguf file: GGUFFile) throws {
    let metadata = GGUFMetadata(file, prefix: "tokenizer.ggml.")
    guard let model = try metadata.string("model") else {
      throw metadata.invalid("key 'tokenizer.ggml.model' is missing; the file holds no tokenizer")
    }
    guard model == "gpt2" else {
      throw CheckpointError(
        .unsupported, file: file.location, "tokenizer: expected a byte-level one (gpt2), found '\(model)'; use another model")
    }
    let name = try metadata.string("pre") ?? "none"
    guard let preTokenizer = PreTokenizer(rawValue: name) else {
      throw CheckpointError(
        .unsupported, file: file.location,
        "tokenizer: expected a split of \(PreTokenizer.allCases.map(\.rawValue).joined(separator: ", ")), found '\(name)'; use "
          + "another model")
    }
    guard let tokens = file.metadata["tokenizer.ggml.tokens"]?.strings else {
      throw metadata.invalid("key 'tokenizer.ggml.tokens': expected a list of texts")
    }
    guard let merges = file.metadata["tokenizer.ggml.merges"]?.strings else {
      throw metadata.invalid("key 'tokenizer.ggml.merges': expected a list of texts")
    }
    var types: [Int] = []
    if let stored = file.metadata["tokenizer.ggml.token_type"] {
      guard let values = stored.ints else {
        throw metadata.invalid("key 'tokenizer.ggml.token_type': expected a list of whole numbers")
      }
      types = values
    }
    let ids = 0...(1 << 24)
    try self.init(
      Vocabulary(
        tokens: tokens, tokenTypes: types, merges: merges, preTokenizer: preTokenizer,
        beginningID: try metadata.optionalInt("bos_token_id", in: ids),
        endID: try metadata.optionalInt("eos_token_id", in: ids),
        endOfTurnID: try metadata.optionalInt("eot_token_id", in: ids),
        paddingID: try metadata.optionalInt("padding_token_id", in: ids),
        addsBeginning: try metadata.bool("add_bos_token"), addsEnd: false, source: file.location))
  }
}
