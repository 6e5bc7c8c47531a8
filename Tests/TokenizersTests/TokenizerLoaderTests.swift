import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

struct TokenizerLoaderTests {
  private static let byteLevel = Fixtures.folder.appendingPathComponent("tokenizers/byte-level")

  @Test func tellsTheKinds() throws {
    #expect(try TokenizerLoader.load(CLIPTokenizerTests.vocabulary) is CLIPTokenizer)
    for pre in PreTokenizer.allCases {
      for url in [Self.byteLevel.appendingPathComponent(pre.rawValue), ByteLevelBPETokenizerTests.tokenizerFile(pre.rawValue)] {
        let tokenizer = try #require(try TokenizerLoader.load(url) as? ByteLevelBPETokenizer)
        #expect(tokenizer.preTokenizer == pre)
      }
    }
    try withTemporaryFolder { folder in
      let clip = """
        {"model": {"end_of_word_suffix": "</w>", "merges": ["a b</w>"], "vocab": \(CLIPTokenizerErrorTests.vocabulary)}}
        """
      try write(["tokenizer.json": clip], to: folder)
      for url in [folder, folder.appendingPathComponent("tokenizer.json")] {
        #expect(try TokenizerLoader.load(url).encode("ab") == [5, 4, 6])
      }
    }
  }

  /// GPT-2's and Qwen2's older folders: the same ids as from tokenizer.json.
  @Test(arguments: [("gpt-2", "GPT2Tokenizer"), ("qwen2", "Qwen2Tokenizer")])
  func twoFileForm(name: String, className: String) throws {
    let whole = try ByteLevelBPETokenizer(tokenizerFile: ByteLevelBPETokenizerTests.tokenizerFile(name))
    let url = ByteLevelBPETokenizerTests.tokenizerFile(name)
    let root = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
    let model = try #require(root["model"] as? [String: Any])
    let merges = try #require(model["merges"] as? [[String]])
    let added = try #require(root["added_tokens"] as? [[String: Any]])
    let decoder = Dictionary(uniqueKeysWithValues: added.map { ("\($0["id"] ?? "")", $0) })
    func text(_ object: Any) throws -> String {
      String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }
    try withTemporaryFolder { folder in
      try write(
        [
          "vocab.json": text(try #require(model["vocab"])),
          "merges.txt": "#version: 0.2\n" + merges.map { $0.joined(separator: " ") + "\n" }.joined(),
          "tokenizer_config.json": text(["tokenizer_class": className, "added_tokens_decoder": decoder] as [String: Any]),
        ], to: folder)
      let tokenizer = try TokenizerLoader.load(folder)
      #expect(tokenizer.vocabularySize == whole.vocabularySize)
      let golden = try GoldenCase(folder: url.deletingLastPathComponent())
      for row in try rows(of: golden, as: TextRow.self) { #expect(tokenizer.encode(row.text) == row.idList) }
    }
  }

  @Test func refusals() throws {
    expectError(.missing, "/no/such") { _ = try TokenizerLoader.load(URL(fileURLWithPath: "/no/such")) }
    let byteLevel = #"{"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}"#
    for (files, code, words) in [
      ([:], TokenizerError.Code.missing, "none of them"),
      (["vocab.json": byteLevel, "merges.txt": "a b\n"], .unsupported, "found none"),
      (
        ["vocab.json": byteLevel, "merges.txt": "a b\n", "tokenizer_config.json": #"{"tokenizer_class": "T5Tokenizer"}"#],
        .unsupported, "T5Tokenizer"
      ),
      (["tokenizer.json": "{}"], .invalid, "model"),
      (
        [
          "tokenizer.json":
            #"{"model": {"vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}, "post_processor": {"type": "TemplateProcessing"}}"#
        ], .unsupported, "TemplateProcessing"
      ),
    ] as [([String: String], TokenizerError.Code, String)] {
      try withTemporaryFolder { folder in
        try write(files, to: folder)
        expectError(code, words) { _ = try TokenizerLoader.load(folder) }
      }
    }
    try withTemporaryFolder { folder in
      try write(
        ["vocab.json": byteLevel, "merges.txt": "a b\n", "tokenizer_config.json": #"{"tokenizer_class": "GPT2Tokenizer"}"#],
        to: folder)
      #expect(try TokenizerLoader.load(folder).encode("ab<|endoftext|>") == [2, 3])
    }
  }

  /// A link to a folder is that folder, and Hugging Face's cache has links to every file in it too.
  @Test func linkedFolders() throws {
    try withTemporaryFolder { folder in
      let manager = FileManager.default
      let snapshot = folder.appendingPathComponent("snapshot")
      try manager.createDirectory(at: snapshot, withIntermediateDirectories: true)
      try manager.createSymbolicLink(
        at: snapshot.appendingPathComponent("tokenizer.json"),
        withDestinationURL: ByteLevelBPETokenizerTests.tokenizerFile("smollm"))
      let link = folder.appendingPathComponent("link")
      try manager.createSymbolicLink(at: link, withDestinationURL: snapshot)
      #expect(try TokenizerLoader.load(link) is ByteLevelBPETokenizer)
      let clip = folder.appendingPathComponent("clip")
      try manager.createSymbolicLink(at: clip, withDestinationURL: CLIPTokenizerTests.vocabulary)
      #expect(try TokenizerLoader.load(clip).encode("a") == TokenizerLoader.load(CLIPTokenizerTests.vocabulary).encode("a"))
      #expect(try CLIPTokenizer(folder: clip).encode("a") == CLIPTokenizer(folder: CLIPTokenizerTests.vocabulary).encode("a"))
      let dangling = folder.appendingPathComponent("dangling")
      try manager.createSymbolicLink(at: dangling, withDestinationURL: folder.appendingPathComponent("none"))
      expectError(.missing, "no such file or folder") { _ = try TokenizerLoader.load(dangling) }
    }
  }

  /// Canonically equal texts are tokens of their own.
  @Test(arguments: [("\u{E9}", "e\u{301}"), ("\u{C5}", "\u{212B}"), ("\u{AC00}", "\u{1100}\u{1161}"), ("\u{3A9}", "\u{2126}")])
  func canonicallyEqualAddedTokens(_ first: String, _ second: String) throws {
    try withTemporaryFolder { folder in
      try write(
        [
          "vocab.json": #"{"<|startoftext|>": 0, "<|endoftext|>": 1, "a</w>": 2, "a": 3}"#, "merges.txt": "#version: 0.2\n",
          "added_tokens.json": "{\"\(first)\": 10, \"\(second)\": 11}",
          "special_tokens_map.json": "{\"additional_special_tokens\": [\"\(first)\", \"\(second)\"]}",
        ], to: folder)
      let tokenizer = try CLIPTokenizer(folder: folder)
      #expect(tokenizer.encodeBody(first) == [10])
      #expect(tokenizer.encodeBody(second) == [11])
      #expect(tokenizer.vocabularySize == 12)
    }
  }
}
