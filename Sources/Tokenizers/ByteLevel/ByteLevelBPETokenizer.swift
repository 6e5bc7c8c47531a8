/// A byte-level byte-pair tokenizer: GPT-2, SmolLM, SmolVLM, Qwen2.
///
/// Added tokens are cut out, the text between is split into words, and each word's UTF-8 bytes are merged by rank.
public struct ByteLevelBPETokenizer: Tokenizer {
  /// What defines a tokenizer, as a GGUF's `tokenizer.ggml.*` arrays hold it.
  public struct Vocabulary: Sendable {
    /// The kind of an entry, with GGUF's numbers.
    public enum TokenType: Int, Sendable {
      case normal = 1
      case unknown = 2
      case control = 3
      case userDefined = 4
      case unused = 5
      case byte = 6
    }

    /// The tokens by id, normal ones in the byte alphabet.
    public var tokens: [String]
    /// The type of each token, as GGUF numbers them; empty when all are normal.
    public var tokenTypes: [Int]
    /// The merges by rank, `left right`.
    public var merges: [String]
    /// How text is split into words.
    public var preTokenizer: PreTokenizer
    /// The id put before a text when ``addsBeginning`` says so.
    public var beginningID: Int?
    /// The id that ends a generation.
    public var endID: Int?
    /// The id that ends a turn, where the model has one apart.
    public var endOfTurnID: Int?
    /// The id that fills a batch up.
    public var paddingID: Int?
    /// Whether ``ByteLevelBPETokenizer/encode(_:)`` puts ``beginningID`` before the text.
    public var addsBeginning: Bool
    /// Whether it puts ``endID`` after the text.
    public var addsEnd: Bool
    /// Takes a word that is in the vocabulary whole, whatever the merges say.
    public var ignoresMerges: Bool
    /// Tokens with matching rules of their own; they replace what ``tokenTypes`` says of the same ids.
    public var addedTokens: [AddedToken]
    /// Where it comes from, for error messages.
    public var source: String

    /// Makes a vocabulary.
    public init(
      tokens: [String], tokenTypes: [Int] = [], merges: [String], preTokenizer: PreTokenizer, beginningID: Int? = nil,
      endID: Int? = nil, endOfTurnID: Int? = nil, paddingID: Int? = nil, addsBeginning: Bool = false, addsEnd: Bool = false,
      ignoresMerges: Bool = false, addedTokens: [AddedToken] = [], source: String
    ) {
      self.tokens = tokens
      self.tokenTypes = tokenTypes
      self.merges = merges
      self.preTokenizer = preTokenizer
      self.beginningID = beginningID
      self.endID = endID
      self.endOfTurnID = endOfTurnID
      self.paddingID = paddingID
      self.addsBeginning = addsBeginning
      self.addsEnd = addsEnd
      self.ignoresMerges = ignoresMerges
      self.addedTokens = addedTokens
      self.source = source
    }
  }

  /// How text is split into words.
  public let preTokenizer: PreTokenizer
  /// The id put before a text, if the model has one.
  public let beginningID: Int?
  /// The id that ends a generation, if the model has one.
  public let endID: Int?
  /// The id that ends a turn, if the model has one apart.
  public let endOfTurnID: Int?
  /// The id that fills a batch up, if the model has one.
  public let paddingID: Int?
  /// The tokens that are cut out of a text before it is split into words.
  public let addedTokens: [AddedToken]
  /// The number of ids.
  public var vocabularySize: Int { tokens.count }

  private let tokens: [String]
  private let addedTokenOfID: [Int: AddedToken]
  private let idOfToken: TokenIndex
  private let idOfByte: [Int32?]
  private let unknownID: Int32?
  private let splitter: AddedTokenSplitter
  private let encoder: BytePairEncoder
  private let ignoresMerges: Bool
  private let addsBeginning: Bool
  private let addsEnd: Bool

  /// Makes a tokenizer.
  ///
  /// - Throws: ``TokenizerError`` when the parts contradict each other: types without tokens, merges of unknown
  ///   symbols, ids out of range, no token at all.
  public init(_ vocabulary: Vocabulary) throws {
    let merges = try vocabulary.merges.enumerated().map {
      try BPEModel.merge($1[...], "merge \($0 + 1)", source: vocabulary.source)
    }
    try self.init(vocabulary, merges: merges)
  }

  init(_ vocabulary: Vocabulary, merges: [(left: String, right: String)]) throws {
    let source = vocabulary.source
    func invalid(_ message: String) -> TokenizerError { TokenizerError(.invalid, source: source, message) }
    let tokens = vocabulary.tokens
    guard 1...(1 << 24) ~= tokens.count else { throw invalid("tokens: expected 1 to 16777216, found \(tokens.count)") }
    guard vocabulary.tokenTypes.isEmpty || vocabulary.tokenTypes.count == tokens.count else {
      throw invalid("token types: expected one for each of \(tokens.count) tokens, found \(vocabulary.tokenTypes.count)")
    }
    for (name, id) in [
      ("beginning-of-text", vocabulary.beginningID), ("end-of-text", vocabulary.endID), ("end-of-turn", vocabulary.endOfTurnID),
      ("padding", vocabulary.paddingID),
    ] {
      if let id, !tokens.indices.contains(id) {
        throw invalid("\(name) id: expected 0 to \(tokens.count - 1), found \(id)")
      }
    }
    for token in vocabulary.addedTokens where !tokens.indices.contains(token.id) {
      throw invalid("added token '\(token.content)': expected an id from 0 to \(tokens.count - 1), found \(token.id)")
    }

    // The first of equal tokens counts, as in llama.cpp's map; files of models have none.
    var ids = TokenIndex(capacity: tokens.count)
    for (id, token) in tokens.enumerated() where ids[token] == nil { ids[token] = Int32(id) }
    encoder = try BytePairEncoder(merges: merges, vocabulary: ids, source: source)

    var rules = Set(vocabulary.addedTokens.map(\.id))
    var added = vocabulary.addedTokens
    var unknown: Int32?
    // Files may call them normal, or hold no types at all; as in llama.cpp, their names count.
    for name in Self.endOfGenerationTokens {
      guard let id = ids[name].map(Int.init), rules.insert(id).inserted else { continue }
      added.append(AddedToken(content: name, id: id))
    }
    for (id, type) in vocabulary.tokenTypes.enumerated() where !rules.contains(id) {
      switch Vocabulary.TokenType(rawValue: type) {
      case .normal, .unused, .byte: break
      case .unknown: unknown = Int32(id)
      case .control: added.append(AddedToken(content: tokens[id], id: id))
      case .userDefined: added.append(AddedToken(content: tokens[id], id: id, isSpecial: false))
      case nil: throw invalid("type of token \(id): expected 1 to 6, found \(type)")
      }
    }
    unknownID = unknown

    self.tokens = tokens
    idOfToken = ids
    idOfByte = (0...255).map { ids[ByteAlphabet.token(of: $0)] }
    addedTokens = added
    addedTokenOfID = Dictionary(added.map { ($0.id, $0) }) { $1 }
    preTokenizer = vocabulary.preTokenizer
    beginningID = vocabulary.beginningID
    endID = vocabulary.endID
    endOfTurnID = vocabulary.endOfTurnID
    paddingID = vocabulary.paddingID
    ignoresMerges = vocabulary.ignoresMerges
    addsBeginning = vocabulary.addsBeginning
    addsEnd = vocabulary.addsEnd
    let composes = vocabulary.preTokenizer.composes
    splitter = AddedTokenSplitter(added) { composes ? NormalFormC.apply(to: $0) : $0 }
  }

  // MARK: Encoding

  /// The ids of a text, special tokens in it parsed, framed as the model asks.
  public func encode(_ text: String) -> [Int] { encode(text, parsesSpecialTokens: true) }

  /// The ids of a text.
  ///
  /// - Parameters:
  ///   - parsesSpecialTokens: False takes `<|im_start|>` and its like as ordinary characters: for text from outside.
  ///   - framed: Whether the beginning and end ids are added where the model asks for them.
  public func encode(_ text: String, parsesSpecialTokens: Bool, framed: Bool = true) -> [Int] {
    var ids: [Int] = []
    if framed, addsBeginning, let beginningID { ids.append(beginningID) }
    for segment in splitter.split(text.unicodeScalars.map(\.value), parsesSpecial: parsesSpecialTokens) {
      switch segment {
      case .token(let id): ids.append(id)
      case .text(let scalars): preTokenizer.forEachWord(in: scalars) { append($0, to: &ids) }
      }
    }
    if framed, addsEnd, let endID { ids.append(endID) }
    return ids
  }

  /// Bytes that the vocabulary doesn't hold become the unknown token, or fall away where there is none.
  private func append(_ word: ArraySlice<UInt32>, to ids: inout [Int]) {
    var symbols: [Int32] = []
    var name = ""
    symbols.reserveCapacity(word.count)
    for scalar in word {
      UTF8Bytes.forEach(of: scalar) { byte in
        if ignoresMerges { name += ByteAlphabet.token(of: byte) }
        if let id = idOfByte[Int(byte)] ?? unknownID { symbols.append(id) }
      }
    }
    if ignoresMerges, let id = idOfToken[name] {
      ids.append(Int(id))
    } else {
      encoder.encode(symbols, into: &ids)
    }
  }

  // MARK: Decoding

  /// The text of ids, byte-exact; bytes that aren't UTF-8 become U+FFFD.
  public func decode(_ ids: [Int], skipsSpecialTokens: Bool = false) -> String {
    var bytes: [UInt8] = []
    for id in ids where !(skipsSpecialTokens && isSpecial(id)) { bytes += self.bytes(of: id) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The bytes that an id stands for; none for an id that isn't in the vocabulary.
  public func bytes(of id: Int) -> [UInt8] {
    if let added = addedTokenOfID[id] { return Array(added.content.utf8) }
    return tokens.indices.contains(id) ? ByteAlphabet.bytes(of: tokens[id]) : []
  }

  /// The token's text in the vocabulary, in the byte alphabet.
  public func token(of id: Int) -> String? { tokens.indices.contains(id) ? tokens[id] : nil }

  /// The id of a vocabulary entry, by its text there.
  public func id(of token: String) -> Int? { idOfToken[token].map(Int.init) }

  /// Whether an id is a special token: one that steers the model and is no text.
  public func isSpecial(_ id: Int) -> Bool { addedTokenOfID[id]?.isSpecial ?? false }

  /// Tokens that are known to end a turn or a text, whatever a file says of their type.
  ///
  /// Source: ggml-org/llama.cpp `src/llama-vocab.cpp`, and `</s>`.
  private static let endOfGenerationTokens = [
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>",
    "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>", "</s>",
  ]

  /// Every id after which a generation stops: the end ids, and the tokens known to end a turn or a text.
  public var endOfGenerationIDs: Set<Int> {
    Set([endID, endOfTurnID].compactMap { $0 } + Self.endOfGenerationTokens.compactMap { id(of: $0) })
  }
}
