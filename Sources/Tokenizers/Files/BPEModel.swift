import Foundation
import JSON

/// The vocabulary and merges of a byte-pair tokenizer, as read from files.
struct BPEModel {
  var vocabulary: [(token: String, id: Int32)]
  var merges: [(left: String, right: String)] = []
  /// The added tokens that `tokenizer.json` lists; none for the two-file form.
  var addedTokens: [AddedToken] = []
  /// The file, for error messages.
  var source: String

  /// The largest id that is accepted; far above any tokenizer's, far below what would exhaust memory.
  static let largestID = (1 << 24) - 1

  /// Takes tokens and merges as they are.
  init(vocabulary: [(token: String, id: Int32)], merges: [(left: String, right: String)], source: String) {
    self.vocabulary = vocabulary
    self.merges = merges
    self.source = source
  }

  /// Reads `vocab.json` and `merges.txt`.
  init(vocabularyFile: URL, mergesFile: URL) throws {
    source = vocabularyFile.path
    let object = try TextFile.object(of: vocabularyFile, expected: "an object of token texts and ids")
    vocabulary = try Self.vocabulary(object, source: source)
    let (lines, mergesSource) = (try TextFile.lines(of: mergesFile), mergesFile.path)
    merges.reserveCapacity(lines.count)
    for (index, line) in lines.enumerated() where !line.starts(with: "#version".utf8) {
      merges.append(try Self.merge(Substring(line), "line \(index + 1)", source: mergesSource))
    }
  }

  /// Takes the model out of a `tokenizer.json`.
  init(tokenizerFile file: JSONValue, source: String) throws {
    self.source = source
    func invalid(_ message: String) -> TokenizerError { TokenizerError(.invalid, source: source, message) }
    guard let model = file["model"], model.object != nil else { throw invalid("model: expected an object, found none") }
    let type = model["type"]?.string ?? "BPE"
    guard type == "BPE" else {
      throw TokenizerError(
        .unsupported, source: source, "model: expected BPE, found \(type); only byte-pair tokenizers are read")
    }
    vocabulary = try Self.vocabulary(model["vocab"], source: source)
    guard let list = model["merges"]?.array else { throw invalid("model.merges: expected a list, found none") }
    merges.reserveCapacity(list.count)
    for (index, item) in list.enumerated() {
      // "left right" in older files, ["left", "right"] in newer ones.
      if let line = item.string {
        merges.append(try Self.merge(line[...], "merge \(index + 1)", source: source))
      } else if let pair = item.array, pair.count == 2, let left = pair[0].string, let right = pair[1].string {
        merges.append((left, right))
      } else {
        throw invalid("merge \(index + 1): expected two symbols, found something else")
      }
    }
    for (index, item) in (file["added_tokens"]?.array ?? []).enumerated() {
      guard let token = AddedToken(json: item, specialByDefault: false), let id = item["id"]?.int,
        0...Self.largestID ~= id
      else {
        throw invalid(
          "added_tokens[\(index)]: expected an object with 'id' (0 to \(Self.largestID)) and 'content', found something else")
      }
      addedTokens.append(token)
      addedTokens[addedTokens.count - 1].id = id
    }
  }

  /// Splits `left right`.
  ///
  /// - Parameter place: Where it stands in the source, for the error message.
  static func merge(_ line: Substring, _ place: @autoclosure () -> String, source: String) throws -> (left: String, right: String)
  {
    if let space = line.utf8.firstIndex(of: 0x20), space > line.startIndex {
      let rest = line.utf8.index(after: space)
      if rest < line.endIndex, !line.utf8[rest...].contains(0x20) { return (String(line[..<space]), String(line[rest...])) }
    }
    throw TokenizerError(
      .invalid, source: source,
      "\(place()): expected two symbols with one space between them, found '\(line)'; the file is damaged")
  }

  private static func vocabulary(_ object: JSONValue?, source: String) throws -> [(token: String, id: Int32)] {
    guard let members = object?.object, !members.isEmpty else {
      throw TokenizerError(.invalid, source: source, "vocabulary: expected an object of token texts and ids, found none")
    }
    return try members.map { token, value in
      guard let id = value.int, 0...largestID ~= id else {
        throw TokenizerError(
          .invalid, source: source, "vocabulary entry '\(token)': expected an id from 0 to \(largestID), found \(value.summary)")
      }
      return (token, Int32(id))
    }
  }
}

extension JSONValue {
  /// A few words for error messages.
  var summary: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let value): "'\(value)'"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

extension AddedToken {
  /// Reads the fields of an entry but for its id; absent flags are as in transformers.
  init?(json: JSONValue, specialByDefault: Bool) {
    guard let content = json["content"]?.string else { return nil }
    let special = specialByDefault || json["special"]?.bool ?? false
    func flag(_ key: String) -> Bool { json[key]?.bool ?? false }
    self.init(
      content: content, id: 0, isSpecial: special, stripsLeft: flag("lstrip"), stripsRight: flag("rstrip"),
      isSingleWord: flag("single_word"), isNormalized: json["normalized"]?.bool ?? !special)
  }
}
