public import Foundation

extension ByteLevelBPETokenizer {
  /// Reads a Hugging Face `tokenizer.json` with one of the pre-tokenizers of ``PreTokenizer``.
  ///
  /// The ids that begin and end a text aren't in that file; pass them when they matter.
  ///
  /// - Throws: ``TokenizerError`` when the file is missing or damaged, or of a kind that isn't supported.
  public init(tokenizerFile url: URL, beginningID: Int? = nil, endID: Int? = nil) throws {
    let file = try TokenizerFile(url)
    let model = try BPEModel(file, source: url.path)
    func unsupported(_ message: String) -> TokenizerError { TokenizerError(.unsupported, source: url.path, message) }
    if file.model.byteFallback == true { throw unsupported("byte_fallback: expected false, found true; byte-level tokenizers need none") }
    if let suffix = file.model.endOfWordSuffix, !suffix.isEmpty {
      throw unsupported("end_of_word_suffix: expected none, found '\(suffix)'; a CLIP tokenizer is read as such")
    }
    let preTokenizer = try Self.preTokenizer(of: file, unsupported)
    let normalizers = file.normalizer.map { $0.normalizers ?? [$0] } ?? []
    guard normalizers.map(\.type) == (preTokenizer.composes ? ["NFC"] : []) else {
      throw unsupported(
        "normalizer: expected \(preTokenizer.composes ? "NFC" : "none") for \(preTokenizer.rawValue), found \(normalizers.map(\.type))")
    }

    // Ids without a token can't be met in a text; they keep an empty entry.
    let highest = max(model.vocabulary.values.max().map(Int.init) ?? 0, model.addedTokens.map(\.id).max() ?? 0)
    guard highest < 1 << 24, model.addedTokens.allSatisfy({ $0.id >= 0 }) else {
      throw TokenizerError(.invalid, source: url.path, "added_tokens: expected ids from 0 to 16777215, found others")
    }
    var tokens = [String](repeating: "", count: highest + 1)
    for (token, id) in model.vocabulary { tokens[Int(id)] = token }
    for token in model.addedTokens { tokens[token.id] = token.content }
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    try self.init(
      Vocabulary(
        tokens: tokens, merges: model.merges.map { text($0.left) + " " + text($0.right) }, preTokenizer: preTokenizer,
        beginningID: beginningID, endID: endID, ignoresMerges: file.model.ignoreMerges ?? false, addedTokens: model.addedTokens,
        source: url.path))
  }

  private static let qwen2Pattern =
    #"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#

  private static func preTokenizer(of file: TokenizerFile, _ unsupported: (String) -> TokenizerError) throws -> PreTokenizer {
    let steps = file.preTokenizer.map { $0.pretokenizers ?? [$0] } ?? []
    if let byteLevel = steps.last, byteLevel.type == "ByteLevel", byteLevel.addPrefixSpace != true {
      let splits = byteLevel.useRegex ?? true
      if steps.count == 1, splits { return .gpt2 }
      if steps.count == 2, steps[0].type == "Digits", steps[0].individualDigits == true, splits { return .smollm }
      if steps.count == 2, steps[0].type == "Split", steps[0].pattern?.regex == qwen2Pattern, !splits { return .qwen2 }
    }
    let found = steps.map { $0.type + ($0.pattern?.regex.map { " \($0)" } ?? "") }
    throw unsupported(
      "pre_tokenizer: expected that of GPT-2 (ByteLevel), SmolLM (Digits, ByteLevel) or Qwen2 (Split, ByteLevel), found \(found)")
  }
}
