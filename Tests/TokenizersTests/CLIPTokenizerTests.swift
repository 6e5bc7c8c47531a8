import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

struct CLIPTokenizerTests {
  static let vocabulary = Fixtures.folder.appendingPathComponent("Models/clip-vocabulary")
  static let shared = Result { try CLIPTokenizer(folder: vocabulary) }

  struct Attributes: Decodable {
    var folder: String
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/clip").filter { $0.op == "clipTokenizer" })
  func agreesWithTransformers(golden: GoldenCase) throws {
    let attributes: Attributes = try golden.attributes()
    let tokenizer = try CLIPTokenizer(folder: Fixtures.folder.appendingPathComponent(attributes.folder))
    for row in try rows(of: golden, as: TextRow.self) {
      #expect(tokenizer.encode(row.text) == row.idList, "\(row.text) (\(codePoints(row.text)))")
      if let decoded = row.decoded {
        #expect(same(tokenizer.decode(row.idList), decoded), "\(codePoints(decoded))")
      }
      if let decoded = row.decodedWithoutSpecial {
        #expect(same(tokenizer.decode(row.idList, skipsSpecialTokens: true), decoded), "\(codePoints(decoded))")
      }
    }
  }

  struct PaddingRow: Decodable {
    var folder: String
    var text: String
    var maxLength: Int
    var ids: String
    var dropped: Int
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/clip/padding"))
  func padsAndCutsAsTransformers(golden: GoldenCase) throws {
    var tokenizers: [String: CLIPTokenizer] = [:]
    for row in try rows(of: golden, as: PaddingRow.self) {
      let tokenizer = try tokenizers[row.folder] ?? CLIPTokenizer(folder: Fixtures.folder.appendingPathComponent(row.folder))
      tokenizers[row.folder] = tokenizer
      let padded = try tokenizer.encodePadded(row.text, maxLength: row.maxLength)
      #expect(padded.ids.map(String.init).joined(separator: " ") == row.ids)
      #expect(padded.ids.count == row.maxLength)
      #expect(padded.droppedTokenCount == row.dropped)
    }
  }

  /// Ids that were published or measured elsewhere, apart from the files.
  @Test(arguments: [
    ("", [49406, 49407]),
    ("   ", [49406, 49407]),
    (
      "Hello, World!  It's 2023's   best\tphoto\n(masterpiece:1.2) [bad]",
      [
        49406, 3306, 267, 1002, 256, 585, 568, 273, 271, 273, 274, 568, 949, 1125, 263, 12066, 281, 272, 269, 273, 264, 314, 2103,
        316, 49407,
      ]
    ),
    (
      "don't I'll WE'VE y'all O'Neil",
      [49406, 847, 713, 328, 1342, 649, 1200, 344, 262, 615, 334, 262, 8030, 49407]
    ),
    ("😀👍🏽 emoji ❤️", [49406, 12832, 43722, 16327, 1752, 49407]),
    (
      "日本語のテキスト 中文",
      [
        49406, 39121, 44353, 34002, 252, 21575, 2429, 228, 47121, 32421, 486, 19759, 255, 29032, 485, 49407,
      ]
    ),
    ("12345 3.14 v1-5", [49406, 272, 273, 274, 275, 276, 274, 269, 272, 275, 341, 272, 268, 276, 49407]),
    ("a photo of an astronaut riding a horse on mars", [49406, 320, 1125, 539, 550, 18376, 6765, 320, 4558, 525, 7496, 49407]),
    (
      "Apple CoreML developer tools on a Macbook Air are fast",
      [49406, 3055, 19622, 5780, 10929, 5771, 525, 320, 20617, 1922, 631, 1953, 49407]
    ),
    ("hello<|endoftext|>world", [49406, 3306, 49407, 1002, 49407]),
  ])
  func knownIDs(text: String, ids: [Int]) throws {
    #expect(try Self.shared.get().encode(text) == ids)
  }

  @Test func paddingIsTheFoldersOwn() throws {
    let folders = Fixtures.folder.appendingPathComponent("tokenizers/folders")
    #expect(try CLIPTokenizer(folder: folders.appendingPathComponent("sd15")).paddingID == 49407)
    #expect(try CLIPTokenizer(folder: folders.appendingPathComponent("sd20")).paddingID == 0)
    #expect(try CLIPTokenizer(folder: Self.vocabulary).paddingID == 49407)
    #expect(try CLIPTokenizer(folder: Self.vocabulary, paddingToken: "!").paddingID == 0)
  }

  @Test func chunksCarryTheirOwnFrameAndPadding() throws {
    let tokenizer = try CLIPTokenizer(folder: Self.vocabulary, paddingToken: "!")
    let text = Array(repeating: "cat", count: 160).joined(separator: " ")
    let body = tokenizer.encodeBody(text)
    let chunks = try tokenizer.chunks(text)
    #expect(chunks.count == 3)
    #expect(chunks.allSatisfy { $0.count == 77 && $0.first == 49406 })
    #expect(chunks.flatMap { $0.dropFirst().prefix { $0 != 49407 } } == body)
    #expect(chunks[0].last == 49407 && chunks[1].last == 49407)
    #expect(chunks[2] == [49406] + body[150...] + [49407] + Array(repeating: 0, count: 65))
    // A text that fits is one window, the same as the padded form; an empty one too.
    for short in ["a cat", ""] {
      #expect(try tokenizer.chunks(short) == [tokenizer.encodePadded(short).ids])
    }
    #expect(try tokenizer.chunks(text, of: 1).count == 160)
  }

  @Test(arguments: [-5, 0, 1, 70_000, Int.max]) func impossibleLengths(length: Int) throws {
    let tokenizer = try Self.shared.get()
    expectError(.invalid, "\(length)") { _ = try tokenizer.encodePadded("a", maxLength: length) }
  }

  @Test(arguments: [0, -1, -2, Int.min, Int.max]) func impossibleChunks(length: Int) throws {
    let tokenizer = try Self.shared.get()
    expectError(.invalid) { _ = try tokenizer.chunks("a", of: length) }
  }

  @Test func unknownIDsDecodeToNothing() throws {
    let tokenizer = try Self.shared.get()
    #expect(tokenizer.decode([-1, 320, Int.max, 2368, 49408]) == "a cat")
  }

  /// A single word of 200,000 letters must not take quadratic time.
  @Test(.timeLimit(.minutes(15))) func veryLongWord() throws {
    let tokenizer = try Self.shared.get()
    #expect(tokenizer.encode(String(repeating: "aeiou", count: 40_000)).count > 1000)
  }

  /// The one-file form holds the same tokenizer.
  @Test func tokenizerFileGivesTheSameIDs() throws {
    try withTemporaryFolder { folder in
      let vocabulary = try String(contentsOf: Self.vocabulary.appendingPathComponent("vocab.json"), encoding: .utf8)
      let lines = try String(contentsOf: Self.vocabulary.appendingPathComponent("merges.txt"), encoding: .utf8)
        .split(separator: "\n").dropFirst().map(String.init)
      for asPairs in [false, true] {
        let merges = try JSONSerialization.data(
          withJSONObject: asPairs ? lines.map { $0.components(separatedBy: " ") } as [Any] : lines)
        let file = """
          {"added_tokens": [
            {"id": 49406, "content": "<|startoftext|>", "special": true, "normalized": true, "lstrip": false, "rstrip": false, "single_word": false},
            {"id": 49407, "content": "<|endoftext|>", "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],
           "model": {"type": "BPE", "end_of_word_suffix": "</w>", "vocab": \(vocabulary), "merges": \(String(decoding: merges, as: UTF8.self))}}
          """
        try write(["tokenizer.json": file], to: folder)
        let tokenizer = try CLIPTokenizer(folder: folder)
        let golden = try GoldenCase(folder: Fixtures.folder.appendingPathComponent("tokenizers/clip/special-tokens-sd15"))
        for row in try rows(of: golden, as: TextRow.self) { #expect(tokenizer.encode(row.text) == row.idList) }
      }
    }
  }
}
