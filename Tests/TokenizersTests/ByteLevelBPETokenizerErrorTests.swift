import Foundation
import TestSupport
import Testing

@testable import Tokenizers

struct ByteLevelBPETokenizerErrorTests {
  private func vocabulary(
    tokens: [String] = ["a", "b", "ab", "<s>"], types: [Int] = [1, 1, 1, 3], merges: [String] = ["a b"]
  ) -> ByteLevelBPETokenizer.Vocabulary {
    .init(tokens: tokens, tokenTypes: types, merges: merges, preTokenizer: .gpt2, source: "test.gguf")
  }

  @Test func smallVocabularyWorks() throws {
    let tokenizer = try ByteLevelBPETokenizer(vocabulary())
    #expect(tokenizer.encode("ab<s>ba") == [2, 3, 1, 0])
    // Bytes without a token fall away where there is no unknown token…
    #expect(tokenizer.encode("aéb") == [2])
    // …and become it where there is one.
    let withUnknown = try ByteLevelBPETokenizer(vocabulary(tokens: ["a", "b", "ab", "<unk>"], types: [1, 1, 1, 2]))
    #expect(withUnknown.encode("a!") == [0, 3])
    // No types at all: everything is normal.
    #expect(try ByteLevelBPETokenizer(vocabulary(types: [])).encode("<s>") == [])
  }

  @Test func contradictions() {
    expectError(.invalid, "test.gguf", "token types", "found 2") { _ = try ByteLevelBPETokenizer(vocabulary(types: [1, 1])) }
    expectError(.invalid, "tokens", "found 0") { _ = try ByteLevelBPETokenizer(vocabulary(tokens: [], types: [])) }
    expectError(.invalid, "type of token 1", "found 9") { _ = try ByteLevelBPETokenizer(vocabulary(types: [1, 9, 1, 3])) }
    expectError(.invalid, "type of token 1", "found 0") { _ = try ByteLevelBPETokenizer(vocabulary(types: [1, 0, 1, 3])) }
    expectError(.invalid, "merge 2", "'c'") { _ = try ByteLevelBPETokenizer(vocabulary(merges: ["a b", "a c"])) }
    expectError(.invalid, "merge 1", "'ba'") { _ = try ByteLevelBPETokenizer(vocabulary(merges: ["b a"])) }
  }

  @Test(arguments: ["", "ab", "a b c", " a b", "a ", " ", "a  b"]) func damagedMerge(merge: String) {
    expectError(.invalid, "merge 1") { _ = try ByteLevelBPETokenizer(vocabulary(merges: [merge])) }
  }

  @Test(arguments: [-1, 4, Int.max, Int.min]) func idsOutOfRange(id: Int) {
    for path: WritableKeyPath<ByteLevelBPETokenizer.Vocabulary, Int?> in [\.beginningID, \.endID, \.endOfTurnID, \.paddingID] {
      var vocabulary = vocabulary()
      vocabulary[keyPath: path] = id
      expectError(.invalid, "0 to 3", "\(id)") { _ = try ByteLevelBPETokenizer(vocabulary) }
    }
    var vocabulary = vocabulary()
    vocabulary.addedTokens = [AddedToken(content: "<x>", id: id)]
    expectError(.invalid, "<x>", "\(id)") { _ = try ByteLevelBPETokenizer(vocabulary) }
  }

  @Test(arguments: [
    ("{}", TokenizerError.Code.invalid, "model"),
    ("{nonsense", .invalid, "byte 1"),
    (#"{"model": {"type": "WordPiece"}}"#, .unsupported, "WordPiece"),
    (#"{"model": {"vocab": {}, "merges": []}}"#, .invalid, "vocabulary"),
    (#"{"model": {"vocab": {"a": 0}, "merges": [], "byte_fallback": true}}"#, .unsupported, "byte_fallback"),
    (#"{"model": {"vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"}}"#, .unsupported, "CLIP"),
    (#"{"model": {"vocab": {"a": 0}, "merges": []}}"#, .unsupported, "pre_tokenizer"),
    (#"{"model": {"vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Metaspace"}}"#, .unsupported, "Metaspace"),
    (
      #"{"model": {"vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}}"#,
      .unsupported, "pre_tokenizer"
    ),
    (
      #"{"model": {"vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\d"}, "behavior": "Isolated"}, {"type": "ByteLevel", "use_regex": false}]}}"#,
      .unsupported, "Split \\d"
    ),
    (
      #"{"model": {"vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "ByteLevel"}}"#,
      .unsupported, "NFKC"
    ),
    (
      #"{"model": {"vocab": {"a": 0}, "merges": []}, "added_tokens": [{"id": 4000000000, "content": "x"}], "pre_tokenizer": {"type": "ByteLevel"}}"#,
      .invalid, "added_tokens[0]"
    ),
  ])
  func damagedFile(text: String, code: TokenizerError.Code, words: String) throws {
    try withTemporaryFolder { folder in
      try write(["tokenizer.json": text], to: folder)
      expectError(code, "tokenizer.json", words) {
        _ = try ByteLevelBPETokenizer(tokenizerFile: folder.appendingPathComponent("tokenizer.json"))
      }
    }
  }

  @Test func missingFile() {
    expectError(.missing, "/no/such/file") { _ = try ByteLevelBPETokenizer(tokenizerFile: URL(fileURLWithPath: "/no/such/file")) }
  }
}
