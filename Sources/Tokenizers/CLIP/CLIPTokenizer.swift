public import Foundation

/// The tokenizer of CLIP's text encoders, equal to Hugging Face's `CLIPTokenizer`.
///
/// Added tokens are cut out; the rest is composed (normal form C), its whitespace collapsed, lowercased, split into words
/// and encoded by byte pairs, the last byte of a word carrying `</w>`.
public struct CLIPTokenizer: Tokenizer {
  /// The id at the start of every sequence.
  public let beginningOfTextID: Int
  /// The id at the end of every sequence.
  public let endOfTextID: Int
  /// The id that fills a sequence up.
  public let paddingID: Int
  /// The id of bytes that the vocabulary doesn't hold.
  public let unknownID: Int
  /// The special tokens, and what a folder adds to the vocabulary.
  public let addedTokens: [AddedToken]
  /// The number of ids.
  public let vocabularySize: Int

  private let splitter: AddedTokenSplitter
  private let encoder: BytePairEncoder
  private let idOfByte: [Int32]
  private let idOfLastByte: [Int32]
  private let textOfID: [Int: String]

  /// The mark of a word's last symbol.
  static let endOfWord = "</w>"

  /// Reads a tokenizer folder, as ``Files`` describes it.
  ///
  /// - Parameter paddingToken: Instead of the folder's own.
  public init(folder: URL, paddingToken: String? = nil) throws {
    try self.init(files: Files(folder: folder), paddingToken: paddingToken)
  }

  /// Reads the files of a tokenizer.
  ///
  /// - Parameter paddingToken: Instead of the files' own.
  /// - Throws: ``TokenizerError`` when a file is missing or damaged, or when a special token isn't in the vocabulary.
  public init(files: Files, paddingToken: String? = nil) throws {
    let model = try files.model()
    var special = try files.specialTokens(tokenizerFileTokens: model.addedTokens)
    if let paddingToken { special.padding = .text(paddingToken) }
    try self.init(model: model, specialTokens: special)
  }

  init(model: BPEModel, specialTokens: SpecialTokens) throws {
    var textOfID: [Int: String] = [:]
    textOfID.reserveCapacity(model.vocabulary.count)
    var ids = TokenIndex(capacity: model.vocabulary.count)
    for (token, id) in model.vocabulary {
      ids[token] = id
      textOfID[Int(id)] = token
    }
    func required(_ token: String, _ role: String) throws -> Int32 {
      if let id = ids[token] { return id }
      if let added = specialTokens.declared.first(where: { $0.content.utf8.elementsEqual(token.utf8) }) {
        return Int32(truncatingIfNeeded: added.id)
      }
      throw TokenizerError(
        .invalid, source: model.source,
        "\(role) token: expected '\(token)' in the vocabulary, found no such entry; use the vocabulary of the model's own tokenizer"
      )
    }
    let unknown = try required(specialTokens.unknown.content, "unknown")
    beginningOfTextID = Int(try required(specialTokens.beginning.content, "beginning-of-text"))
    endOfTextID = Int(try required(specialTokens.end.content, "end-of-text"))
    paddingID = Int(try required(specialTokens.padding.content, "padding"))
    unknownID = Int(unknown)
    idOfByte = (0...255).map { ids[ByteAlphabet.token(of: $0)] ?? unknown }
    idOfLastByte = (0...255).map { ids[ByteAlphabet.token(of: $0) + Self.endOfWord] ?? unknown }
    encoder = try BytePairEncoder(merges: model.merges, vocabulary: ids, source: model.source)
    addedTokens = specialTokens.addedTokens { ids[$0].map(Int.init) }
    for token in addedTokens { textOfID[token.id] = token.content }
    self.textOfID = textOfID
    vocabularySize = (textOfID.keys.max() ?? -1) + 1
    splitter = AddedTokenSplitter(addedTokens, normalize: Self.normalize)
  }

  // MARK: Encoding

  /// The ids of a text, from beginning-of-text to end-of-text, uncut.
  public func encode(_ text: String) -> [Int] { [beginningOfTextID] + encodeBody(text) + [endOfTextID] }

  /// The ids of a text without the two that frame it.
  public func encodeBody(_ text: String) -> [Int] {
    var ids: [Int] = []
    for segment in splitter.split(text.unicodeScalars.map(\.value)) {
      switch segment {
      case .token(let id): ids.append(id)
      case .text(let scalars): CLIPWordSplitter.forEachWord(in: scalars) { append($0, to: &ids) }
      }
    }
    return ids
  }

  private func append(_ word: ArraySlice<UInt32>, to ids: inout [Int]) {
    var symbols: [Int32] = []
    symbols.reserveCapacity(word.count)
    var last: UInt8 = 0
    for scalar in word {
      UTF8Bytes.forEach(of: scalar) { byte in
        symbols.append(idOfByte[Int(byte)])
        last = byte
      }
    }
    if !symbols.isEmpty { symbols[symbols.count - 1] = idOfLastByte[Int(last)] }
    encoder.encode(symbols, into: &ids)
  }

  @Sendable private static func normalize(_ scalars: [UInt32]) -> [UInt32] {
    Lowercase.apply(to: Whitespace.collapse(NormalFormC.apply(to: scalars)))
  }

  // MARK: Decoding

  /// The text of ids: words separated by single spaces.
  public func decode(_ ids: [Int], skipsSpecialTokens: Bool = false) -> String {
    let special = Set(addedTokens.filter(\.isSpecial).map(\.id))
    var bytes: [UInt8] = []
    for id in ids where !(skipsSpecialTokens && special.contains(id)) {
      if let token = textOfID[id] { bytes += ByteAlphabet.bytes(of: token) }
    }
    // In bytes: a String would not find the mark where a combining scalar follows it.
    let spaced = bytes.replacing(Array(Self.endOfWord.utf8), with: [0x20])
    return Whitespace.trim(String(decoding: spaced, as: UTF8.self))
  }
}
