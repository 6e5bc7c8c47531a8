import Checkpoints
import Foundation
import Testing

@Suite struct JSONValueTests {
  private func parse(_ text: String) throws -> JSONValue { try parse(Array(text.utf8)) }

  private func parse(_ bytes: [UInt8]) throws -> JSONValue {
    try bytes.withUnsafeBytes { try JSONValue(parsing: $0, file: "test.json") }
  }

  @Test func readsEveryKindOfValue() throws {
    let value = try parse(#" {"a": [1, -2.5, 1e3, true, false, null, "x"], "b": {"c": {}}, "d": []} "#)
    #expect(value["a"] == [1, -2.5, 1000.0, true, false, nil, "x"])
    #expect(value["b"]?["c"] == .object([:]))
    #expect(value["d"] == .array([]))
    #expect(value["a"]?.array?[0] == .integer(1))
    #expect(value["a"]?.array?[2].int == 1000)
    #expect(value["a"]?.array?[1].int == nil)
    #expect(try parse("9223372036854775807") == .integer(.max))
    #expect(try parse("9223372036854775808") == .number(9_223_372_036_854_775_808))
  }

  @Test func readsWhatPythonWrites() throws {
    #expect(try parse("-Infinity") == .number(-.infinity))
    #expect(try parse("Infinity") == .number(.infinity))
    #expect(try parse("[NaN]").array?[0].double?.isNaN == true)
    #expect(try parse(#""\u00fc \ud83c\udf0d \n\t\"\\\/\b\f\r""#) == .string("ü 🌍 \n\t\"\\/\u{8}\u{C}\r"))
  }

  @Test(arguments: [
    ("", "expected a value"), ("{", "expected a key"), ("[1,]", "expected a value"), ("[1 2]", "expected ','"),
    (#"{"a" 1}"#, "expected ':'"), (#"{"a": 1, "a": 2}"#, "occurs twice"), ("1 2", "after the value"), ("01", "after the value"),
    ("1.", "digit"), ("1e", "digit"), ("-", "expected a value"), ("tru", "expected a value"), (#""abc"#, "no closing quote"),
    (#""\x""#, "unknown escape"), (#""\u12g4""#, "hexadecimal"), (#""\ud800""#, "surrogate"), (#""\ud800\u0041""#, "surrogate"),
    ("\"a\nb\"", "control character"), (#"{1: 2}"#, "expected a key"), (#"{"a": 1,}"#, "expected a key"),
  ])
  func refuses(_ text: String, _ message: String) {
    expectFailure(.invalid, message) { _ = try parse(text) }
  }

  @Test func refusesBadUTF8AndDeepNesting() {
    expectFailure(.invalid, "UTF-8") { _ = try parse([0x22, 0xFF, 0x22]) }
    expectFailure(.invalid, "UTF-8") { _ = try parse([0x22, 0x5C, 0x6E, 0xC3, 0x22]) }
    expectFailure(.invalid, "nested deeper") { _ = try parse(String(repeating: "[", count: 100_000)) }
  }

  @Test func tellsFileAndByte() {
    let error = failure { _ = try parse("[1, x]") }
    #expect(error?.description == "test.json: not valid JSON at byte 4: expected a value")
  }

  @Test func writesWhatItReads() throws {
    let value: JSONValue = [
      "text": "a\"b\\c\n\u{1}ü", "list": [1, 2.5, true, nil, []], "nested": ["deep": ["er": -0.1]], "empty": .object([:]),
      "low": .number(-.infinity),
    ]
    #expect(try parse(value.text()) == value)
    #expect(try parse(value.description) == value)
    #expect(JSONValue.array([1, "a"]).description == #"[1, "a"]"#)
  }

  @Test func survivesCoding() throws {
    let value: JSONValue = ["a": [1, 2.5, "x", nil, true], "b": ["c": -3]]
    #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
  }
}
