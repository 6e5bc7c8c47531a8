import TestSupport
import Testing

@testable import Tokenizers

struct StreamingDecoderTests {
  /// One token for each byte; the id is the byte.
  private func bytes() throws -> ByteLevelBPETokenizer {
    try ByteLevelBPETokenizer(
      .init(
        tokens: (UInt8.min...UInt8.max).map(ByteAlphabet.token) + ["<end>"], tokenTypes: Array(repeating: 1, count: 256) + [3],
        merges: [], preTokenizer: .gpt2, source: "bytes"))
  }

  private func pieces(_ ids: [Int], skips: Bool = true) throws -> [String] {
    var decoder = StreamingDecoder(try bytes(), skipsSpecialTokens: skips)
    return ids.map { decoder.append($0) }
  }

  @Test func holdsBackIncompleteCharacters() throws {
    #expect(try pieces([0x61, 0xC3, 0xA9, 0x62]) == ["a", "", "é", "b"])
    #expect(try pieces([0xF0, 0x9F, 0x98, 0x80]) == ["", "", "", "😀"])
    #expect(try pieces([0xE6, 0x97, 0xA5, 0x21]) == ["", "", "日", "!"])
  }

  @Test func specialTokens() throws {
    #expect(try pieces([0x61, 256, 0x62]) == ["a", "", "b"])
    #expect(try pieces([0x61, 256, 0x62], skips: false) == ["a", "<end>", "b"])
    // A skipped token doesn't cut a character in two; a shown one does.
    #expect(try pieces([0xC3, 256, 0xA9]) == ["", "", "é"])
    #expect(try pieces([0xC3, 256, 0xA9], skips: false) == ["", "\u{FFFD}<end>", "\u{FFFD}"])
  }

  @Test func wrongBytesComeOutAtOnce() throws {
    #expect(try pieces([0xFF, 0x61]) == ["\u{FFFD}", "a"])
    #expect(try pieces([0x80]) == ["\u{FFFD}"])
    #expect(try pieces([0xC0, 0x80]) == ["\u{FFFD}", "\u{FFFD}"])
    // E0 80 can't become a character; E0 alone could.
    #expect(try pieces([0xE0, 0x80]) == ["", "\u{FFFD}\u{FFFD}"])
    #expect(try pieces([0xED, 0xA0, 0x80]) == ["", "\u{FFFD}\u{FFFD}", "\u{FFFD}"])
    #expect(try pieces([0xF4, 0x90]) == ["", "\u{FFFD}\u{FFFD}"])
    #expect(try pieces([0xC3, 0x61]) == ["", "\u{FFFD}a"])
  }

  @Test func nothingIsShownOfACharacterThatIsNeverCompleted() throws {
    #expect(try pieces([0x61, 0xF0, 0x9F, 0x98]) == ["a", "", "", ""])
    #expect(try pieces([0xC3]) == [""])
  }

  /// Any bytes in any order: the pieces, joined, are the text decoded at once, scalar by scalar.
  @Test func piecesJoinToTheWhole() throws {
    var random = TestRandom(seed: 17)
    let tokenizer = try bytes()
    let edges = [
      0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF, 256,
    ]
    for _ in 0..<5000 {
      let ids = (0..<Int.random(in: 1...10, using: &random)).map { _ in edges.randomElement(using: &random) ?? 0 }
      for skips in [false, true] {
        var decoder = StreamingDecoder(tokenizer, skipsSpecialTokens: skips)
        let joined = ids.map { decoder.append($0) }.joined()
        let bytes = ids.filter { !(skips && tokenizer.isSpecial($0)) }.flatMap { tokenizer.bytes(of: $0) }
        let whole = bytes.dropLast(StreamingDecoder.incompleteSuffixLength(of: bytes))
        #expect(same(joined, String(decoding: whole, as: UTF8.self)), "\(ids)")
      }
    }
  }
}
