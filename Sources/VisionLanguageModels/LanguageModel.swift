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
  /// How a conversation becomes text; nil when the file has no template, or one of a family that isn't known here.
  public let template: ChatTemplate?
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
    template = file.metadata["tokenizer.chat_template"]?.string.flatMap { ChatTemplate(jinja: $0) }
    endIDs = tokenizer.endOfGenerationIDs
    let views = file.weightNames.compactMap { file.weight(named: $0) }
    parameterCount = views.reduce(0) { $0 + $1.shape.elementCount }
    weightBytes = views.reduce(0) { $0 + $1.bytes.count }
  }

  /// The ids of a text, special tokens in it parsed.
  public func encode(_ text: String) -> [Int] { tokenizer.encode(text) }

  /// A prompt of text alone, ready for the decoder.
  public func prompt(ids: [Int]) -> PreparedPrompt {
    PreparedPrompt(
      ids: ids, embeddings: decoder.embeddings(of: ids), positions: ids.indices.map { TokenPosition($0) },
      nextPosition: ids.count)
  }
}
