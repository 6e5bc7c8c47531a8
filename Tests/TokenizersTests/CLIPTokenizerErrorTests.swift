import Foundation
import TestSupport
import Testing

@testable import Tokenizers

struct CLIPTokenizerErrorTests {
  /// The smallest vocabulary that is a CLIP tokenizer: two letters, one merge.
  static let vocabulary =
    #"{"a": 0, "b": 1, "a</w>": 2, "b</w>": 3, "ab</w>": 4, "<|startoftext|>": 5, "<|endoftext|>": 6}"#
  static let merges = "#version: 0.2\na b</w>\n"

  private func load(_ files: [String: String], paddingToken: String? = nil) throws -> CLIPTokenizer {
    var result: CLIPTokenizer?
    try withTemporaryFolder { folder in
      try write(files, to: folder)
      result = try CLIPTokenizer(folder: folder, paddingToken: paddingToken)
    }
    return try #require(result)
  }

  @Test func smallVocabularyWorks() throws {
    let tokenizer = try load(["vocab.json": Self.vocabulary, "merges.txt": Self.merges])
    #expect(tokenizer.encode("AB ba") == [5, 4, 1, 2, 6])
    // Bytes that aren't in the vocabulary become the unknown token, one for each.
    #expect(tokenizer.encode("aé") == [5, 0, 6, 6, 6])
    #expect(tokenizer.decode([5, 4, 1, 2, 6], skipsSpecialTokens: true) == "ab ba")
    #expect(tokenizer.vocabularySize == 7)
  }

  @Test func windowsLineEndsAreRead() throws {
    let tokenizer = try load(["vocab.json": Self.vocabulary, "merges.txt": "#version: 0.2\r\na b</w>\r\n"])
    #expect(tokenizer.encode("ab") == [5, 4, 6])
  }

  @Test func lastOfRepeatedMergesCounts() throws {
    let vocabulary =
      #"{"a": 0, "b": 1, "a</w>": 2, "b</w>": 3, "ab": 4, "bb</w>": 7, "ba": 8, "<|startoftext|>": 5, "<|endoftext|>": 6}"#
    let first = try load(["vocab.json": vocabulary, "merges.txt": "a b\nb b</w>\n"])
    #expect(first.encode("abb") == [5, 4, 3, 6])
    let last = try load(["vocab.json": vocabulary, "merges.txt": "a b\nb b</w>\na b\n"])
    #expect(last.encode("abb") == [5, 0, 7, 6])
  }

  @Test func missingFiles() throws {
    expectError(.missing, "no-such-folder") { _ = try CLIPTokenizer(folder: URL(fileURLWithPath: "/no-such-folder")) }
    expectError(.missing, "found none of them") { _ = try load([:]) }
    expectError(.missing, "only vocab.json") { _ = try load(["vocab.json": Self.vocabulary]) }
    expectError(.missing, "only merges.txt") { _ = try load(["merges.txt": Self.merges]) }
    expectError(.missing, "merges.txt") {
      try withTemporaryFolder { folder in
        try write(["vocab.json": Self.vocabulary], to: folder)
        _ = try CLIPTokenizer(
          files: .init(
            vocabularyFile: folder.appendingPathComponent("vocab.json"), mergesFile: folder.appendingPathComponent("merges.txt")))
      }
    }
  }

  @Test(arguments: [
    ("", "byte 0"), ("{", "key in quotes"), ("[1, 2]", "another JSON value"), (#"{"a": "0"}"#, "'0'"), (#"{"a": 1.5}"#, "1.5"),
    (#"{"a": -1}"#, "-1"), (#"{"a": 99999999999}"#, "99999999999"), ("{}", "found none"), (#"{"a": null}"#, "null"),
  ])
  func damagedVocabulary(text: String, words: String) throws {
    expectError(.invalid, "vocab.json", words) { _ = try load(["vocab.json": text, "merges.txt": Self.merges]) }
  }

  @Test(arguments: ["a", "a b c", "a  b</w>", " a", "a b</w>\n\na b</w>", "a\tb</w>"])
  func damagedMerges(text: String) throws {
    expectError(.invalid, "merges.txt", "line ") { _ = try load(["vocab.json": Self.vocabulary, "merges.txt": text + "\n"]) }
  }

  @Test func mergesThatAreNoText() throws {
    try withTemporaryFolder { folder in
      try write(["vocab.json": Self.vocabulary], to: folder)
      try Data([0x61, 0x20, 0xFF, 0xFE]).write(to: folder.appendingPathComponent("merges.txt"))
      expectError(.invalid, "merges.txt", "UTF-8") { _ = try CLIPTokenizer(folder: folder) }
    }
  }

  @Test func mergesOfAnotherTokenizer() throws {
    expectError(.invalid, "merge 1", "'x'") { _ = try load(["vocab.json": Self.vocabulary, "merges.txt": "x a</w>\n"]) }
    expectError(.invalid, "merge 2", "'ba</w>'") {
      _ = try load(["vocab.json": Self.vocabulary, "merges.txt": "a b</w>\nb a</w>\n"])
    }
  }

  @Test func missingSpecialTokens() throws {
    let without = #"{"a": 0, "b": 1, "a</w>": 2, "b</w>": 3, "ab</w>": 4, "<|endoftext|>": 6}"#
    expectError(.invalid, "beginning-of-text", "<|startoftext|>") {
      _ = try load(["vocab.json": without, "merges.txt": Self.merges])
    }
    expectError(.invalid, "padding", "'!'") {
      _ = try load(["vocab.json": Self.vocabulary, "merges.txt": Self.merges], paddingToken: "!")
    }
    expectError(.invalid, "end-of-text", "</s>") {
      let config = #"{"eos_token": "</s>"}"#
      _ = try load(["vocab.json": Self.vocabulary, "merges.txt": Self.merges, "tokenizer_config.json": config])
    }
  }

  @Test(arguments: [
    ("tokenizer_config.json", "no JSON"), ("tokenizer_config.json", "[]"), ("tokenizer_config.json", #"{"bos_token": 3}"#),
    ("tokenizer_config.json", #"{"pad_token": {"text": "!"}}"#),
    ("tokenizer_config.json", #"{"added_tokens_decoder": {"x": {}}}"#),
    ("tokenizer_config.json", #"{"added_tokens_decoder": {"7": {"special": true}}}"#), ("special_tokens_map.json", "{"),
    ("special_tokens_map.json", #"{"unk_token": []}"#), ("added_tokens.json", #"{"<new>": "7"}"#),
  ])
  func damagedConfiguration(name: String, text: String) throws {
    expectError(.invalid, name) { _ = try load(["vocab.json": Self.vocabulary, "merges.txt": Self.merges, name: text]) }
  }

  @Test(arguments: [
    ("{}", TokenizerError.Code.unsupported, "end_of_word_suffix"),
    (#"{"model": {"type": "Unigram", "end_of_word_suffix": "</w>"}}"#, .unsupported, "Unigram"),
    (#"{"model": {"end_of_word_suffix": "</w>", "vocab": {"a": 0}}}"#, .invalid, "model.merges"),
    (#"{"model": {"end_of_word_suffix": "</w>", "vocab": {"a": 0}, "merges": [["a"]]}}"#, .invalid, "merge 1"),
    (#"{"model": {"end_of_word_suffix": "</w>", "vocab": {"a": 0}, "merges": [7]}}"#, .invalid, "merge 1"),
    (#"{"model": {"end_of_word_suffix": "</w>", "vocab": [["a", 0]], "merges": []}}"#, .invalid, "vocabulary"),
    (
      #"{"model": {"end_of_word_suffix": "</w>", "vocab": {"a": 0}, "merges": []}, "added_tokens": [{"id": 1}]}"#, .invalid,
      "added_tokens[0]"
    ),
  ])
  func damagedTokenizerFile(text: String, code: TokenizerError.Code, words: String) throws {
    expectError(code, "tokenizer.json", words) { _ = try load(["tokenizer.json": text]) }
  }

  /// `added_tokens.json`, as textual inversion leaves it: ids after the vocabulary, matched in lowercased text.
  @Test func addedTokensGetTheirIDs() throws {
    let tokenizer = try load([
      "vocab.json": Self.vocabulary, "merges.txt": Self.merges, "added_tokens.json": #"{"<my-cat>": 7}"#,
    ])
    #expect(tokenizer.encode("ab <MY-CAT>b") == [5, 4, 7, 3, 6])
    #expect(tokenizer.vocabularySize == 8)
    #expect(tokenizer.decode([4, 7, 4]) == "ab <my-cat>ab")
  }
}
