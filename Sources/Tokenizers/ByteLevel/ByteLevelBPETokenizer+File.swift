public import Foundation
import JSON

extension ByteLevelBPETokenizer {
  /// Reads a Hugging Face `tokenizer.json` with one of the pre-tokenizers of ``PreTokenizer``.
  ///
  /// The ids that begin and end a text aren't in that file; pass them when they matter.
  ///
  /// - Throws: ``TokenizerError`` when the file is missing or damaged, or of a kind that isn't supported.
  public init(tokenizerFile url: URL, beginningID: Int? = nil, endID: Int? = nil) throws {
    let file = try TextFile.object(of: url, expected: "a tokenizer.json with a byte-pair model")
    let model = try BPEModel(tokenizerFile: file, source: url.path)
    func unsupported(_ message: String) -> TokenizerError { TokenizerError(.unsupported, source: url.path, message) }
    if file["model"]?["byte_fallback"]?.bool == true {
      throw unsupported("byte_fallback: expected false, found true; byte-level tokenizers need none")
    }
    if let suffix = file["model"]?["end_of_word_suffix"]?.string, !suffix.isEmpty {
      throw unsupported("end_of_word_suffix: expected none, found '\(suffix)'; a CLIP tokenizer is read as such")
    }
    let preTokenizer = try Self.preTokenizer(of: file, unsupported)
    let normalizers = Self.steps(file["normalizer"], "normalizers").map { $0["type"]?.string ?? "none" }
    guard normalizers == (preTokenizer.composes ? ["NFC"] : []) else {
      throw unsupported(
        "normalizer: expected \(preTokenizer.composes ? "NFC" : "none") for \(preTokenizer.rawValue), found \(normalizers)")
    }

    try Self.checkPostProcessor(file, unsupported)
    try self.init(
      model: model, preTokenizer: preTokenizer, ignoresMerges: file["model"]?["ignore_merges"]?.bool ?? false,
      beginningID: beginningID, endID: endID)
  }

  /// Lays the tokens out by id; ids without a token, which no text can give, keep an empty entry.
  init(
    model: BPEModel, preTokenizer: PreTokenizer, ignoresMerges: Bool, beginningID: Int? = nil, endID: Int? = nil
  ) throws {
    let highest = max(model.vocabulary.map(\.id).max().map(Int.init) ?? 0, model.addedTokens.map(\.id).max() ?? 0)
    var tokens = [String](repeating: "", count: highest + 1)
    for (token, id) in model.vocabulary { tokens[Int(id)] = token }
    for token in model.addedTokens { tokens[token.id] = token.content }
    try self.init(
      Vocabulary(
        tokens: tokens, merges: [], preTokenizer: preTokenizer, beginningID: beginningID, endID: endID,
        ignoresMerges: ignoresMerges, addedTokens: model.addedTokens, source: model.source),
      merges: model.merges)
  }

  /// A post-processor that puts tokens round the text would give other ids than these.
  private static func checkPostProcessor(_ file: JSONValue, _ unsupported: (String) -> TokenizerError) throws {
    let types = steps(file["post_processor"], "processors").map { $0["type"]?.string ?? "none" }
    guard types.allSatisfy({ $0 == "ByteLevel" }) else {
      throw unsupported("post_processor: expected none or ByteLevel, found \(types.joined(separator: ", "))")
    }
  }

  private static let qwen2Pattern =
    #"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#

  /// The steps of a normalizer or pre-tokenizer: those of a sequence, or it alone.
  private static func steps(_ value: JSONValue?, _ listKey: String) -> [JSONValue] {
    guard let value, !value.isNull else { return [] }
    return value[listKey]?.array ?? [value]
  }

  private static func preTokenizer(of file: JSONValue, _ unsupported: (String) -> TokenizerError) throws -> PreTokenizer {
    let steps = steps(file["pre_tokenizer"], "pretokenizers")
    let types = steps.map { $0["type"]?.string ?? "none" }
    if let byteLevel = steps.last, types.last == "ByteLevel", byteLevel["add_prefix_space"]?.bool != true {
      let splits = byteLevel["use_regex"]?.bool ?? true
      if types.count == 1, splits { return .gpt2 }
      if types.count == 2, types[0] == "Digits", steps[0]["individual_digits"]?.bool == true, splits { return .smollm }
      if types.count == 2, types[0] == "Split", steps[0]["pattern"]?["Regex"]?.string == qwen2Pattern,
        steps[0]["behavior"]?.string == "Isolated", steps[0]["invert"]?.bool != true, !splits
      {
        return .qwen2
      }
    }
    let found = zip(types, steps).map { $0 + ($1["pattern"]?["Regex"]?.string.map { " \($0)" } ?? "") }
    throw unsupported(
      "pre_tokenizer: expected that of GPT-2 (ByteLevel), SmolLM (Digits, ByteLevel) or Qwen2 (Split, ByteLevel), found \(found.isEmpty ? "none" : found.joined(separator: ", "))"
    )
  }
}
