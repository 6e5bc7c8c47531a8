import Foundation
import TestSupport
import Testing

@testable import Tokenizers

struct JSONValueTests {
  private func parse(_ text: String) throws -> JSONValue { try parse(Array(text.utf8)) }

  private func parse(_ bytes: [UInt8]) throws -> JSONValue { try bytes.withUnsafeBufferPointer { try JSONValue(parsing: $0) } }

  @Test func values() throws {
    let value = try parse(#" { "a" : [ 1 , -2, 0.5, 1e3, true, false, null, "x" ] , "b" : { } , "c":[], "a2":"" } "#)
    let list = try #require(value["a"]?.array)
    #expect(list.count == 8)
    #expect(list[0].integer == 1)
    #expect(list[1].integer == -2)
    #expect(list[2].summary == "0.5")
    #expect(list[3].summary == "1000.0")
    #expect(list[4].bool == true)
    #expect(list[5].bool == false)
    #expect(list[6].isNull)
    #expect(list[7].string == "x")
    #expect(value["b"]?.object?.isEmpty == true)
    #expect(value["c"]?.array?.isEmpty == true)
    #expect(value["d"] == nil)
    #expect(value["a"]?["a"] == nil)
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u0120""#, "éĠ"), (#""\ud83d\ude00x""#, "😀x"), (#""日本""#, "日本"),
    (#""a\u0000b""#, "a\u{0}b"),
  ])
  func texts(text: String, expected: String) throws {
    let value = try #require(try parse(text).string)
    #expect(Array(value.utf8) == Array(expected.utf8))
  }

  @Test func canonicallyEqualKeysStayApart() throws {
    let value = try parse("{\"\u{E9}\": 1, \"e\u{301}\": 2}")
    #expect(value.object?.count == 2)
    #expect(value["\u{E9}"]?.integer == 1)
    #expect(value["e\u{301}"]?.integer == 2)
    var index = TokenIndex(capacity: 2)
    index["\u{E9}"] = 1
    index["e\u{301}"] = 2
    #expect(index["\u{E9}"] == 1)
  }

  @Test(arguments: [
    "", " ", "{", "[1,", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "[,]", "tru", "nul", "01", "-", "1.", "1e", "+1",
    ".5", "1 2",
    "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "1e999", "[1]]", "NaN",
    "'a'",
    "\u{FEFF}{}",
  ])
  func rejects(text: String) {
    #expect(throws: JSONValue.SyntaxError.self) { try parse(text) }
  }

  @Test func rejectsBadUTF8() {
    for bytes in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xC0, 0x80, 0x22],
    ] as [[UInt8]] {
      #expect(throws: JSONValue.SyntaxError.self) { try parse(bytes) }
    }
  }

  @Test func rejectsDeepNesting() throws {
    _ = try parse(String(repeating: "[", count: 100) + String(repeating: "]", count: 100))
    #expect(throws: JSONValue.SyntaxError.self) { try parse(String(repeating: "[", count: 200_000)) }
  }

  /// Damaged texts: an error or a value, never a trap; what Foundation takes as JSON is taken here, and the other way round.
  ///
  /// But for the comma before a closing bracket, which Foundation lets pass and RFC 8259 doesn't.
  @Test func agreesWithFoundationOnDamagedTexts() {
    let original = Array(
      #"{"model": {"vocab": {"\u0120a": 1, "é": -2.5e3}, "merges": ["a b", ["c", "d"]], "t": [true, null]}}"#.utf8)
    var random = TestRandom(seed: 3)
    for _ in 0..<5000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0x20...0x7E, using: &random)
        case 1: bytes.remove(at: index)
        default: bytes.insert(Array(#"{}[]",:\e0-"#.utf8).randomElement(using: &random) ?? 0x20, at: index)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if text.contains(/,\s*[\]}]/) { continue }
      let ours = (try? parse(bytes)) != nil
      let foundation = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
      #expect(ours == foundation, "\(text)")
    }
  }
}
