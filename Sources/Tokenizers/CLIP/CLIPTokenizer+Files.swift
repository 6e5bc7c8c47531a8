public import Foundation

extension CLIPTokenizer {
  /// The files of a CLIP tokenizer.
  public struct Files: Sendable {
    /// `tokenizer.json`, which counts before the other two.
    public var tokenizerFile: URL?
    /// `vocab.json`.
    public var vocabularyFile: URL?
    /// `merges.txt`.
    public var mergesFile: URL?
    /// `tokenizer_config.json`: the special tokens.
    public var configFile: URL?
    /// `special_tokens_map.json`: overrides them, unless the config file has an `added_tokens_decoder`.
    public var specialTokensFile: URL?
    /// `added_tokens.json`: further tokens with their ids, under the same condition.
    public var addedTokensFile: URL?

    /// Names the two files without which there is no tokenizer.
    public init(vocabularyFile: URL, mergesFile: URL) {
      self.vocabularyFile = vocabularyFile
      self.mergesFile = mergesFile
    }

    /// Names the one-file form alone.
    public init(tokenizerFile: URL) { self.tokenizerFile = tokenizerFile }

    /// Finds the files in a folder: `tokenizer.json`, or `vocab.json` and `merges.txt`; the others may be absent.
    public init(folder: URL) throws {
      func existing(_ name: String) -> URL? {
        let url = folder.appendingPathComponent(name)
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
      }
      guard TextFile.isFolder(folder) else {
        throw TokenizerError(
          .missing, source: folder.path, "tokenizer folder: there is none; give the folder that holds tokenizer.json")
      }
      tokenizerFile = existing("tokenizer.json")
      vocabularyFile = existing("vocab.json")
      mergesFile = existing("merges.txt")
      configFile = existing("tokenizer_config.json")
      specialTokensFile = existing("special_tokens_map.json")
      addedTokensFile = existing("added_tokens.json")
      guard tokenizerFile != nil || (vocabularyFile != nil && mergesFile != nil) else {
        let found = [("vocab.json", vocabularyFile), ("merges.txt", mergesFile)].filter { $0.1 != nil }.map(\.0)
        throw TokenizerError(
          .missing, source: folder.path,
          "expected tokenizer.json, or vocab.json and merges.txt, found \(found.isEmpty ? "none of them" : "only \(found[0])")")
      }
    }

    func model() throws -> BPEModel {
      if let tokenizerFile {
        let file = try TextFile.object(of: tokenizerFile, expected: "a tokenizer.json with a byte-pair model")
        guard CLIPTokenizer.isCLIP(tokenizerFile: file) else {
          throw TokenizerError(
            .unsupported, source: tokenizerFile.path,
            "end_of_word_suffix: expected '\(CLIPTokenizer.endOfWord)', found \(file["model"]?["end_of_word_suffix"]?.summary ?? "none"); this isn't a CLIP tokenizer"
          )
        }
        return try BPEModel(tokenizerFile: file, source: tokenizerFile.path)
      }
      guard let vocabularyFile, let mergesFile else {
        throw TokenizerError(
          .missing, source: "CLIP tokenizer", "expected tokenizer.json, or vocab.json and merges.txt, found neither")
      }
      return try BPEModel(vocabularyFile: vocabularyFile, mergesFile: mergesFile)
    }

    func specialTokens(tokenizerFileTokens: [AddedToken]) throws -> SpecialTokens {
      var tokens = SpecialTokens()
      let config = try configFile.map { try TextFile.object(of: $0) } ?? .object([])
      if let configFile { try tokens.take(config, source: configFile.path, specialByDefault: false) }
      if let decoder = config["added_tokens_decoder"] {
        try tokens.declare(decoder, source: configFile?.path ?? "")
        return tokens
      }
      if let specialTokensFile {
        try tokens.take(TextFile.object(of: specialTokensFile), source: specialTokensFile.path, specialByDefault: true)
      }
      if let addedTokensFile {
        try tokens.declareAdded(TextFile.object(of: addedTokensFile), source: addedTokensFile.path)
      }
      tokens.declared += tokenizerFileTokens
      return tokens
    }
  }
}

extension CLIPTokenizer {
  /// Whether a `tokenizer.json` holds a vocabulary of CLIP's kind.
  static func isCLIP(tokenizerFile file: JSONValue) -> Bool { file["model"]?["end_of_word_suffix"]?.string == endOfWord }
}

extension SpecialTokens {
  /// Takes the named tokens of `tokenizer_config.json` or `special_tokens_map.json`.
  fileprivate mutating func take(_ object: JSONValue, source: String, specialByDefault: Bool) throws {
    func entry(_ value: JSONValue?, _ key: String) throws -> Entry? {
      guard let value, !value.isNull else { return nil }
      if let text = value.string { return .text(text) }
      if let token = AddedToken(json: value, specialByDefault: specialByDefault) { return .token(token) }
      throw TokenizerError(
        .invalid, source: source, "\(key): expected a text or an object with 'content', found \(value.summary)")
    }
    if let found = try entry(object["bos_token"], "bos_token") { beginning = found }
    if let found = try entry(object["eos_token"], "eos_token") { end = found }
    if let found = try entry(object["unk_token"], "unk_token") { unknown = found }
    if let found = try entry(object["pad_token"], "pad_token") { padding = found }
    for key in ["sep_token", "cls_token", "mask_token"] {
      if let found = try entry(object[key], key) { others.append(found) }
    }
    for key in ["additional_special_tokens", "extra_special_tokens"] {
      for value in object[key]?.array ?? [] {
        if let found = try entry(value, key) { others.append(found) }
      }
    }
  }

  /// Takes an `added_tokens_decoder`: ids (as texts) and tokens.
  mutating func declare(_ decoder: JSONValue, source: String) throws {
    for (key, value) in decoder.object ?? [] {
      guard let id = Int(key), 0...BPEModel.largestID ~= id, var token = AddedToken(json: value, specialByDefault: false) else {
        throw TokenizerError(
          .invalid, source: source,
          "added_tokens_decoder.\(key): expected an id and an object with 'content', found \(value.summary)")
      }
      token.id = id
      declared.append(token)
    }
  }

  /// Takes an `added_tokens.json`: texts and ids.
  fileprivate mutating func declareAdded(_ object: JSONValue, source: String) throws {
    let named = Set(([beginning, end, unknown, padding] + others).map { Array($0.content.unicodeScalars) })
    for (content, value) in object.object ?? [] {
      guard let id = value.integer, 0...BPEModel.largestID ~= id else {
        throw TokenizerError(.invalid, source: source, "'\(content)': expected an id, found \(value.summary)")
      }
      let isSpecial = named.contains(Array(content.unicodeScalars))
      declared.append(AddedToken(content: content, id: id, isSpecial: isSpecial, isNormalized: !isSpecial))
    }
  }
}
