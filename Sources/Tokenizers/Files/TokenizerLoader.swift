public import Foundation

/// Reads whichever tokenizer a path holds.
///
/// A GGUF's tokenizer is made from its metadata by whoever reads the GGUF: ``ByteLevelBPETokenizer/Vocabulary``.
public enum TokenizerLoader {
  /// Reads a folder with `tokenizer.json`, or with `vocab.json` and `merges.txt`; or a `tokenizer.json` itself.
  ///
  /// A vocabulary of words that end in `</w>` is CLIP's; the others are byte-level ones.
  ///
  /// - Throws: ``TokenizerError`` when there is none, or one of another kind.
  public static func load(_ url: URL) throws -> any Tokenizer {
    let isFolder = TextFile.isFolder(url)
    guard isFolder || FileManager.default.fileExists(atPath: url.path) else {
      throw TokenizerError(.missing, source: url.path, "tokenizer: no such file or folder; give one that holds tokenizer.json")
    }
    var files = CLIPTokenizer.Files(tokenizerFile: url)
    if isFolder { files = try CLIPTokenizer.Files(folder: url) }
    if let tokenizerFile = files.tokenizerFile {
      let file = try TextFile.object(of: tokenizerFile, expected: "a tokenizer.json with a byte-pair model")
      if CLIPTokenizer.isCLIP(tokenizerFile: file) { return try CLIPTokenizer(files: files) }
      return try ByteLevelBPETokenizer(tokenizerFile: tokenizerFile)
    }
    let model = try files.model()
    if model.merges.contains(where: { $0.right.hasSuffix(CLIPTokenizer.endOfWord) }) { return try CLIPTokenizer(files: files) }
    return try ByteLevelBPETokenizer(model: model, configFile: files.configFile)
  }
}

extension ByteLevelBPETokenizer {
  /// Takes the two-file form; the class that `tokenizer_config.json` names tells how text is split into words.
  init(model: BPEModel, configFile: URL?) throws {
    let config = try configFile.map { try TextFile.object(of: $0) }
    let name = config?["tokenizer_class"]?.string ?? "none"
    let preTokenizer: PreTokenizer
    switch name {
    case "GPT2Tokenizer", "GPT2TokenizerFast": preTokenizer = .gpt2
    case "Qwen2Tokenizer", "Qwen2TokenizerFast": preTokenizer = .qwen2
    default:
      throw TokenizerError(
        .unsupported, source: (configFile?.path ?? model.source),
        "tokenizer_class: expected CLIPTokenizer, GPT2Tokenizer or Qwen2Tokenizer, found \(name); a tokenizer.json would tell more"
      )
    }
    var special = SpecialTokens()
    if let config, let configFile, let decoder = config["added_tokens_decoder"] {
      try special.declare(decoder, source: configFile.path)
    }
    var model = model
    model.addedTokens = special.declared
    if model.addedTokens.isEmpty {
      // What the two classes add by themselves.
      for (token, id) in model.vocabulary where token == "<|endoftext|>" {
        model.addedTokens = [AddedToken(content: token, id: Int(id))]
      }
    }
    try self.init(model: model, preTokenizer: preTokenizer, ignoresMerges: false)
  }
}
