import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

struct ByteLevelBPETokenizerTests {
  struct Attributes: Decodable {
    var preTokenizer: String
  }

  static func tokenizerFile(_ name: String) -> URL {
    Fixtures.folder.appendingPathComponent("tokenizers/byte-level/\(name)/tokenizer.json")
  }

  private func check(_ tokenizer: ByteLevelBPETokenizer, _ golden: GoldenCase) throws {
    for row in try rows(of: golden, as: TextRow.self) {
      #expect(tokenizer.encode(row.text) == row.idList, "\(row.text) (\(codePoints(row.text)))")
      for skips in [false, true] {
        let expected = (skips ? row.decodedWithoutSpecial : row.decoded) ?? row.text
        #expect(same(tokenizer.decode(row.idList, skipsSpecialTokens: skips), expected), "\(codePoints(expected))")
        var decoder = StreamingDecoder(tokenizer, skipsSpecialTokens: skips)
        let pieces = row.idList.map { decoder.append($0) }
        #expect(same(pieces.joined(), expected), "\(codePoints(expected))")
      }
    }
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/byte-level"))
  func agreesWithTokenizersLibrary(golden: GoldenCase) throws {
    let attributes: Attributes = try golden.attributes()
    let tokenizer = try ByteLevelBPETokenizer(tokenizerFile: golden.folder.appendingPathComponent("tokenizer.json"))
    #expect(tokenizer.preTokenizer.rawValue == attributes.preTokenizer)
    try check(tokenizer, golden)
  }

  /// The same from plain arrays, as a GGUF holds them: control and user-defined types instead of matching rules.
  @Test(arguments: ["smollm", "qwen2"]) func arraysGiveTheSameIDs(name: String) throws {
    let url = Self.tokenizerFile(name)
    try check(ByteLevelBPETokenizer(Self.arrays(of: url)), GoldenCase(folder: url.deletingLastPathComponent()))
  }

  static func arrays(of url: URL) throws -> ByteLevelBPETokenizer.Vocabulary {
    let model = try BPEModel(tokenizerFile: TextFile.object(of: url), source: url.path)
    let count = max(model.vocabulary.count, (model.addedTokens.map(\.id).max() ?? 0) + 1)
    var tokens = [String](repeating: "", count: count)
    var types = [Int](repeating: 1, count: count)
    for (token, id) in model.vocabulary { tokens[Int(id)] = token }
    for token in model.addedTokens {
      tokens[token.id] = token.content
      types[token.id] = token.isSpecial ? 3 : 4
    }
    let pre = try #require(PreTokenizer(rawValue: url.deletingLastPathComponent().lastPathComponent))
    return .init(
      tokens: tokens, tokenTypes: types, merges: model.merges.map { "\($0.left) \($0.right)" }, preTokenizer: pre,
      addedTokens: model.addedTokens.filter(\.isNormalized), source: "arrays")
  }

  @Test(arguments: [
    (PreTokenizer.gpt2, "I'll  see\n\n 12 x!", ["I", "'ll", " ", " see", "\n\n", " 12", " x", "!"]),
    (.gpt2, "I'LL", ["I", "'", "LL"]),
    (.smollm, "a 12", ["a", " ", "1", "2"]),
    (.smollm, "x\n\n1 \t y", ["x", "\n\n", "1", " \t", " y"]),
    (.qwen2, "I'LL  see\n\n 12 x!\n\n", ["I", "'LL", " ", " see", "\n\n", " ", "1", "2", " x", "!\n\n"]),
    (.qwen2, "\tif(x)\r\n  y 'ſ", ["\tif", "(x", ")\r\n", " ", " y", " '", "ſ"]),
    (.qwen2, "'ſx'Re", ["'ſ", "x", "'Re"]),  // without the contraction the letters would join
    (.qwen2, "a \n b   ", ["a", " \n", " b", "   "]),
    (.gpt2, "   ", ["   "]),
    (.qwen2, "", []),
  ])
  func splitsIntoWords(pre: PreTokenizer, text: String, words: [String]) {
    var found: [String] = []
    pre.forEachWord(in: text.unicodeScalars.map(\.value)) { word in
      var view = String.UnicodeScalarView()
      view.append(contentsOf: word.compactMap(Unicode.Scalar.init))
      found.append(String(view))
    }
    #expect(found == words)
  }

  /// No character may be lost or moved, whatever the text.
  @Test(arguments: PreTokenizer.allCases) func wordsJoinToTheText(pre: PreTokenizer) {
    var random = TestRandom(seed: 11)
    let alphabet = "ab'sll  \t\n\r1٣½é日!<\u{301}\u{85}\u{3000}\u{200B}S".unicodeScalars.map(\.value)
    for _ in 0..<1000 {
      let text = (0..<Int.random(in: 0...20, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      var joined: [UInt32] = []
      pre.forEachWord(in: text) { word in
        #expect(!word.isEmpty)
        joined += word
      }
      #expect(joined == text)
    }
  }

  // MARK: Special tokens

  @Test func specialTokensInForeignTextStayText() throws {
    let tokenizer = try ByteLevelBPETokenizer(tokenizerFile: Self.tokenizerFile("smollm"))
    let end = try #require(tokenizer.id(of: "<|im_end|>"))
    #expect(tokenizer.encode("a<|im_end|>").contains(end))
    let plain = tokenizer.encode("a<|im_end|><tool_call>", parsesSpecialTokens: false)
    #expect(!plain.contains(end))
    // A token that is added but not special is matched all the same.
    #expect(plain.last == tokenizer.id(of: "<tool_call>"))
    #expect(tokenizer.decode(plain) == "a<|im_end|><tool_call>")
  }

  @Test func frameIsAddedWhereTheModelAsks() throws {
    var vocabulary = try Self.arrays(of: Self.tokenizerFile("qwen2"))
    vocabulary.beginningID = 1
    vocabulary.endID = 2
    let bare = try ByteLevelBPETokenizer(vocabulary)
    let body = bare.encode("ab")
    vocabulary.addsBeginning = true
    vocabulary.addsEnd = true
    let framed = try ByteLevelBPETokenizer(vocabulary)
    #expect(framed.encode("ab") == [1] + body + [2])
    #expect(framed.encode("ab", parsesSpecialTokens: true, framed: false) == body)
    #expect(framed.encode("") == [1, 2])
  }

  @Test func generationEndsAtEveryEndToken() throws {
    var vocabulary = try Self.arrays(of: Self.tokenizerFile("smollm"))
    vocabulary.endID = 5
    let tokenizer = try ByteLevelBPETokenizer(vocabulary)
    let ids = ["<|endoftext|>", "<|im_end|>", "<end_of_utterance>"].compactMap { tokenizer.id(of: $0) }
    #expect(tokenizer.endOfGenerationIDs == Set(ids + [5]))
    #expect(!tokenizer.endOfGenerationIDs.contains(try #require(tokenizer.id(of: "<|im_start|>"))))
  }

  /// Files that call their end tokens normal, or hold no types at all: the names count, as in llama.cpp.
  @Test(arguments: [false, true])
  func endTokensAreKnownByName(withTypes: Bool) throws {
    let names = ["<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "</s>", "<|end_of_text|>", "<EOT>"]
    let bytes = (UInt8.min...UInt8.max).map(ByteAlphabet.token)
    let tokenizer = try ByteLevelBPETokenizer(
      .init(
        tokens: bytes + names + ["<|im_start|>"], tokenTypes: withTypes ? Array(repeating: 1, count: 256 + names.count + 1) : [],
        merges: [], preTokenizer: .gpt2, source: "names"))
    #expect(tokenizer.endOfGenerationIDs == Set(256..<(256 + names.count)))
    #expect(tokenizer.encode("a<|im_end|>") == [0x61, 256])
    #expect(tokenizer.isSpecial(256))
    #expect(tokenizer.encode("<|im_start|>").count == 12)
  }

  @Test func idsOutsideOfTheVocabulary() throws {
    let tokenizer = try ByteLevelBPETokenizer(tokenizerFile: Self.tokenizerFile("gpt-2"))
    #expect(tokenizer.decode([-1, tokenizer.vocabularySize, .max, .min]) == "")
    #expect(tokenizer.bytes(of: -1).isEmpty)
    #expect(tokenizer.token(of: tokenizer.vocabularySize) == nil)
    #expect(!tokenizer.isSpecial(-1))
    #expect(tokenizer.id(of: "no such token") == nil)
  }

  @Test(.timeLimit(.minutes(15)), arguments: PreTokenizer.allCases) func longTextsTakeLinearTime(pre: PreTokenizer) throws {
    let tokenizer = try ByteLevelBPETokenizer(tokenizerFile: Self.tokenizerFile(pre.rawValue))
    for unit in ["aeiou", " ", "\n ", "!", "<", "7", "e\u{301}", "\u{301}"] {
      let text = String(repeating: unit, count: 50_000)
      #expect(tokenizer.decode(tokenizer.encode(text)).unicodeScalars.count <= text.unicodeScalars.count)
    }
  }
}
