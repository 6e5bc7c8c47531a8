import Foundation

/// The vocabulary and merges of a byte-pair tokenizer, as read from files.
struct BPEModel {
  var vocabulary: [String: Int32]
  var merges: [(left: [UInt8], right: [UInt8])]
  /// The added tokens that `tokenizer.json` lists; none for the two-file form.
  var addedTokens: [AddedToken] = []
  /// The file, for error messages.
  var source: String

  /// Reads `vocab.json` and `merges.txt`.
  init(vocabularyFile: URL, mergesFile: URL) throws {
    let vocabulary: [String: Int] = try JSONFile.decode(vocabularyFile, expected: "an object of token texts and ids")
    self.init(vocabulary: try Self.checked(vocabulary, source: vocabularyFile.path), merges: [], source: vocabularyFile.path)
    let lines = try TextFile.lines(of: mergesFile)
    for (index, line) in lines.enumerated() where !line.starts(with: "#version".utf8) {
      guard let merge = Self.merge(line) else {
        throw TokenizerError(
          .invalid, source: mergesFile.path,
          "line \(index + 1): expected two symbols with one space between them, found '\(String(decoding: line, as: UTF8.self))'; the file is damaged")
      }
      merges.append(merge)
    }
  }

  init(vocabulary: [String: Int32], merges: [(left: [UInt8], right: [UInt8])], source: String) {
    self.vocabulary = vocabulary
    self.merges = merges
    self.source = source
  }

  /// Takes the model out of a `tokenizer.json`.
  init(_ file: TokenizerFile, source: String) throws {
    guard file.model.type ?? "BPE" == "BPE" else {
      throw TokenizerError(
        .unsupported, source: source, "model: expected BPE, found \(file.model.type ?? "none"); only byte-pair tokenizers are read")
    }
    self.init(vocabulary: try Self.checked(file.model.vocab, source: source), merges: [], source: source)
    for (index, text) in file.model.merges.enumerated() {
      switch text {
      case .pair(let left, let right): merges.append((Array(left.utf8), Array(right.utf8)))
      case .line(let line):
        guard let merge = Self.merge(line.utf8[...]) else {
          throw TokenizerError(
            .invalid, source: source, "merge \(index + 1): expected two symbols with one space between them, found '\(line)'")
        }
        merges.append(merge)
      }
    }
    addedTokens = (file.addedTokens ?? []).map(\.token)
  }

  /// Splits `left right`.
  static func merge(_ line: some Collection<UInt8>) -> (left: [UInt8], right: [UInt8])? {
    let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    return (Array(parts[0]), Array(parts[1]))
  }

  private static func checked(_ vocabulary: [String: Int], source: String) throws -> [String: Int32] {
    guard !vocabulary.isEmpty else {
      throw TokenizerError(.invalid, source: source, "vocabulary: expected tokens, found none")
    }
    return try vocabulary.mapValues { id in
      guard 0..<(1 << 24) ~= id else {
        throw TokenizerError(.invalid, source: source, "vocabulary: expected ids from 0 to 16777215, found \(id); the file is damaged")
      }
      return Int32(id)
    }
  }
}

/// The parts of a `tokenizer.json` that are read.
struct TokenizerFile: Decodable {
  struct Model: Decodable {
    var type: String?
    var vocab: [String: Int]
    var merges: [Merge]
    var ignoreMerges: Bool?
    var byteFallback: Bool?
    var endOfWordSuffix: String?

    enum CodingKeys: String, CodingKey {
      case type
      case vocab
      case merges
      case ignoreMerges = "ignore_merges"
      case byteFallback = "byte_fallback"
      case endOfWordSuffix = "end_of_word_suffix"
    }
  }

  /// `"left right"` in older files, `["left", "right"]` in newer ones.
  enum Merge: Decodable {
    case line(String)
    case pair(String, String)

    init(from decoder: any Decoder) throws {
      if let line = try? decoder.singleValueContainer().decode(String.self) {
        self = .line(line)
        return
      }
      var list = try decoder.unkeyedContainer()
      self = .pair(try list.decode(String.self), try list.decode(String.self))
      guard list.isAtEnd else {
        throw DecodingError.dataCorruptedError(in: list, debugDescription: "a merge of more than two symbols")
      }
    }
  }

  struct Added: Decodable {
    var id: Int
    var content: String
    var special: Bool?
    var lstrip: Bool?
    var rstrip: Bool?
    var singleWord: Bool?
    var normalized: Bool?

    enum CodingKeys: String, CodingKey {
      case id
      case content
      case special
      case lstrip
      case rstrip
      case singleWord = "single_word"
      case normalized
    }

    var token: AddedToken {
      AddedToken(
        content: content, id: id, isSpecial: special ?? false, stripsLeft: lstrip ?? false, stripsRight: rstrip ?? false,
        isSingleWord: singleWord ?? false, isNormalized: normalized ?? !(special ?? false))
    }
  }

  /// A normalizer or pre-tokenizer, as far as its kind must be known.
  struct Step: Decodable {
    struct Pattern: Decodable {
      var regex: String?

      enum CodingKeys: String, CodingKey {
        case regex = "Regex"
      }
    }

    var type: String
    var normalizers: [Step]?
    var pretokenizers: [Step]?
    var individualDigits: Bool?
    var addPrefixSpace: Bool?
    var useRegex: Bool?
    var pattern: Pattern?

    enum CodingKeys: String, CodingKey {
      case type
      case normalizers
      case pretokenizers
      case individualDigits = "individual_digits"
      case addPrefixSpace = "add_prefix_space"
      case useRegex = "use_regex"
      case pattern
    }
  }

  var model: Model
  var addedTokens: [Added]?
  var normalizer: Step?
  var preTokenizer: Step?

  enum CodingKeys: String, CodingKey {
    case model
    case addedTokens = "added_tokens"
    case normalizer
    case preTokenizer = "pre_tokenizer"
  }

  /// Reads a file.
  init(_ url: URL) throws {
    self = try JSONFile.decode(url, expected: "a tokenizer.json with a byte-pair model")
  }
}
