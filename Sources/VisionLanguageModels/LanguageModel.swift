public import Checkpoints
public import KernelContract
import Tensors
public import Tokenizers

/// A decoder with its tokenizer and chat template: what one GGUF file holds.
public struct LanguageModel: Sendable {
  /// The network.
  public let decoder: Decoder
  /// Text to ids and back.
  public let tokenizer: ByteLevelBPETokenizer
  private let storedTemplate: Result<ChatTemplate, TokenizerError>
  /// Every id after which a generation stops.
  public let endIDs: Set<Int>
  /// Weights.
  public let parameterCount: Int
  /// Their bytes in the file.
  public let weightBytes: Int

  /// Builds the model from its file.
  ///
  /// - Throws: `CheckpointError` or `TokenizerError` when the file is of another kind, incomplete or contradicts itself.
  public init(_ file: GGUFFile, kernels: any KernelSet) throws {
    let config = try DecoderConfig(file)
    tokenizer = try ByteLevelBPETokenizer(gguf: file)
    guard tokenizer.vocabularySize == config.vocabularySize else {
      throw CheckpointError(
        .invalid, file: file.location,
        "the tokenizer has \(tokenizer.vocabularySize) tokens, but 'token_embd.weight' has embeddings for "
          + "\(config.vocabularySize); they don't belong together, convert the model anew")
    }
    decoder = try Decoder(file, kernels: kernels)
    storedTemplate = Self.template(of: file, tokenizer)
    endIDs = tokenizer.endOfGenerationIDs
    let views = file.weightNames.compactMap { file.weight(named: $0) }
    parameterCount = views.reduce(0) { $0 + $1.shape.elementCount }
    weightBytes = views.reduce(0) { $0 + $1.bytes.count }
  }

  /// How a conversation becomes text.
  ///
  /// - Throws: `TokenizerError` when the file has no template, or one that does what isn't supported.
  public var template: ChatTemplate { get throws(TokenizerError) { try storedTemplate.get() } }

  private static func template(of file: GGUFFile, _ tokenizer: ByteLevelBPETokenizer) -> Result<ChatTemplate, TokenizerError> {
    guard let template = file.metadata["tokenizer.chat_template"]?.string else {
      return .failure(
        TokenizerError(.missing, source: file.location, "the model has no chat template; use the raw prompt (--raw)"))
    }
    // The names that transformers gives to a tokenizer's special tokens, and GGUF's keys of the same.
    let names = [
      ("bos_token", "bos"), ("eos_token", "eos"), ("unk_token", "unknown"), ("sep_token", "seperator"), ("pad_token", "padding"),
      ("cls_token", "cls"), ("mask_token", "mask"),
    ]
    let tokens = names.compactMap { name, key in
      file.metadata["tokenizer.ggml.\(key)_token_id"]?.int.flatMap { tokenizer.token(of: $0) }.map { (name: name, text: $0) }
    }
    return Result { () throws(TokenizerError) in
      try ChatTemplate(jinja: template, specialTokens: tokens, source: file.location)
    }
  }

  /// The ids of a text, special tokens in it parsed.
  ///
  /// - Parameter framed: Whether the beginning and end ids are added where the model asks for them; a chat template
  ///   writes them itself.
  public func encode(_ text: String, framed: Bool = true) -> [Int] {
    tokenizer.encode(text, parsesSpecialTokens: true, framed: framed)
  }

  /// A prompt of text alone, ready for the decoder.
  public func prompt(ids: [Int]) -> PreparedPrompt {
    PreparedPrompt(
      ids: ids, embeddings: decoder.embeddings(of: ids), positions: ids.indices.map { TokenPosition($0) },
      nextPosition: ids.count)
  }
}
