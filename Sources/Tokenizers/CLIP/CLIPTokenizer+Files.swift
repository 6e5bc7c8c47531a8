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

    /// Finds the files in a folder: `tokenizer.json`, or `vocab.json` and `merges.txt`; the others may be absent.
    public init(folder: URL) throws {
      func existing(_ name: String) -> URL? {
        let url = folder.appendingPathComponent(name)
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
      }
      var isFolder = false
      isFolder = (try? folder.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) ?? false
      guard isFolder || existing(".") != nil else {
        throw TokenizerError(.missing, source: folder.path, "tokenizer folder: there is none; give the folder that holds tokenizer.json")
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
        let file = try TokenizerFile(tokenizerFile)
        guard file.model.endOfWordSuffix == CLIPTokenizer.endOfWord else {
          throw TokenizerError(
            .unsupported, source: tokenizerFile.path,
            "end_of_word_suffix: expected '\(CLIPTokenizer.endOfWord)', found \(file.model.endOfWordSuffix.map { "'\($0)'" } ?? "none"); this isn't a CLIP tokenizer")
        }
        return try BPEModel(file, source: tokenizerFile.path)
      }
      guard let vocabularyFile, let mergesFile else {
        throw TokenizerError(.missing, source: "CLIP tokenizer", "expected tokenizer.json, or vocab.json and merges.txt, found neither")
      }
      return try BPEModel(vocabularyFile: vocabularyFile, mergesFile: mergesFile)
    }

    func specialTokens(tokenizerFileTokens: [AddedToken]) throws -> SpecialTokens {
      var tokens = SpecialTokens()
      let config = try configFile.map(JSONFile.object) ?? [:]
      if let configFile { try tokens.take(config, source: configFile.path, specialByDefault: false) }
      if let decoder = config["added_tokens_decoder"] {
        try tokens.declare(decoder, source: configFile?.path ?? "")
        return tokens
      }
      if let specialTokensFile {
        try tokens.take(JSONFile.object(specialTokensFile), source: specialTokensFile.path, specialByDefault: true)
      }
      if let addedTokensFile {
        let added: [String: Int] = try JSONFile.decode(addedTokensFile, expected: "an object of token texts and ids")
        let special = Set(([tokens.beginning, tokens.end, tokens.unknown, tokens.padding] + tokens.others).map(\.content))
        tokens.declared += added.sorted { $0.value < $1.value }.map { content, id in
          AddedToken(content: content, id: id, isSpecial: special.contains(content), isNormalized: !special.contains(content))
        }
      }
      tokens.declared += tokenizerFileTokens
      return tokens
    }
  }
}

extension SpecialTokens {
  /// Takes the named tokens of `tokenizer_config.json` or `special_tokens_map.json`.
  fileprivate mutating func take(_ object: [String: Any], source: String, specialByDefault: Bool) throws {
    func entry(_ value: Any?, _ key: String) throws -> Entry? {
      switch value {
      case nil, is NSNull: return nil
      case let text as String: return .text(text)
      case let fields as [String: Any]:
        guard let token = AddedToken(fields: fields, specialByDefault: specialByDefault) else { break }
        return .token(token)
      default: break
      }
      throw TokenizerError(.invalid, source: source, "\(key): expected a text or an object with 'content', found something else")
    }
    if let found = try entry(object["bos_token"], "bos_token") { beginning = found }
    if let found = try entry(object["eos_token"], "eos_token") { end = found }
    if let found = try entry(object["unk_token"], "unk_token") { unknown = found }
    if let found = try entry(object["pad_token"], "pad_token") { padding = found }
    for key in ["sep_token", "cls_token", "mask_token"] {
      if let found = try entry(object[key], key) { others.append(found) }
    }
    for key in ["additional_special_tokens", "extra_special_tokens"] {
      for value in object[key] as? [Any] ?? [] {
        if let found = try entry(value, key) { others.append(found) }
      }
    }
  }

  /// Takes an `added_tokens_decoder`: ids (as texts) and tokens.
  fileprivate mutating func declare(_ value: Any, source: String) throws {
    for (key, value) in value as? [String: Any] ?? [:] {
      guard let id = Int(key), 0..<(1 << 24) ~= id, let fields = value as? [String: Any],
        var token = AddedToken(fields: fields, specialByDefault: false)
      else {
        throw TokenizerError(.invalid, source: source, "added_tokens_decoder.\(key): expected an id and an object with 'content'")
      }
      token.id = id
      declared.append(token)
    }
  }
}

extension AddedToken {
  /// Reads the fields of an entry; absent flags are as transformers' `AddedToken` has them.
  fileprivate init?(fields: [String: Any], specialByDefault: Bool) {
    guard let content = fields["content"] as? String else { return nil }
    let special = specialByDefault || fields["special"] as? Bool ?? false
    func flag(_ key: String) -> Bool { fields[key] as? Bool ?? false }
    self.init(
      content: content, id: 0, isSpecial: special, stripsLeft: flag("lstrip"), stripsRight: flag("rstrip"),
      isSingleWord: flag("single_word"), isNormalized: fields["normalized"] as? Bool ?? !special)
  }
}
