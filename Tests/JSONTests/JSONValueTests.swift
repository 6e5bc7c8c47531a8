import Foundation
import JSON
import TestSupport
import Testing

struct JSONValueTests {
  private func parse(_ bytes: [UInt8], as dialect: JSONDialect = .standard) throws -> JSONValue {
    try bytes.withUnsafeBytes { try JSONValue(parsing: $0, as: dialect) }
  }

  @Test func readsEveryKindOfValue() throws {
    let value = try JSONValue(parsing: #" { "a" : [ 1 , -2.5, 1e3, true,false, null, "x" ] , "b" : {"c":{}}, "d": [ ], "":"" } "#)
    #expect(value["a"] == [1, -2.5, 1000.0, true, false, nil, "x"])
    #expect(value["b"]?["c"] == .object([:]))
    #expect(value["d"] == .array([]))
    #expect(value[""] == "")
    #expect(value["e"] == nil && value["a"]?["a"] == nil)
    #expect(value["a"]?.array?[2].int == 1000 && value["a"]?.array?[1].int == nil)
    #expect(value["a"]?.array?[5].isNull == true)
  }

  @Test(arguments: [
    ("9223372036854775807", JSONValue.integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)), ("18446744073709551615", .unsigned(.max)),
    ("18446744073709551616", .number(18_446_744_073_709_551_616)), ("-9223372036854777856", .number(-9_223_372_036_854_777_856)),
    ("0", .integer(0)), ("-0", .integer(0)), ("-0.0", .number(-0.0)), ("1E2", .number(100)), ("1e-300", .number(1e-300)),
  ])
  func keepsAllDigitsOf64Bits(_ text: String, _ expected: JSONValue) throws {
    let value = try JSONValue(parsing: text)
    #expect(value == expected)
    #expect(try JSONValue(parsing: value.description) == expected)
  }

  @Test func seedsAreExact() throws {
    for seed in [0, 1, UInt64(1) << 53 + 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max] {
      #expect(JSONValue(seed).description == String(seed))
      #expect(try JSONValue(parsing: String(seed)).uint64 == seed)
      let coded = try JSONEncoder().encode([JSONValue(seed)])
      #expect(try JSONDecoder().decode([JSONValue].self, from: coded) == [JSONValue(seed)])
    }
    #expect(try JSONValue(parsing: "-1").uint64 == nil)
    #expect(try JSONValue(parsing: "1.5").uint64 == nil)
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u0120""#, "éĠ"), (#""\ud83d\ude00x""#, "😀x"), (#""日本""#, "日本"),
    (#""a\u0000b""#, "a\u{0}b"),
  ])
  func texts(_ text: String, _ expected: String) throws {
    let value = try #require(try JSONValue(parsing: text).string)
    #expect(Array(value.utf8) == Array(expected.utf8))
  }

  @Test(arguments: [
    ("", "expected a value"), (" ", "expected a value"), ("{", "expected a key"), ("[1,]", "expected a value"),
    ("[1 2]", "expected ','"),
    (#"{"a" 1}"#, "expected ':'"), (#"{"a"}"#, "expected ':'"), (#"{"a":}"#, "expected a value"), ("{a:1}", "expected a key"),
    (#"{"a":1,}"#, "expected a key"), ("[,]", "expected a value"), ("1 2", "after the value"), ("[1]]", "after the value"),
    ("01", "after the value"), ("1.", "digit"), ("1e", "digit"), ("-", "digit"), ("+1", "expected a value"),
    (".5", "expected a value"),
    ("tru", "expected a value"), ("nul", "expected a value"), ("'a'", "expected a value"), ("\u{FEFF}{}", "expected a value"),
    ("1e999", "out of range"), ("NaN", "expected a value"), ("Infinity", "expected a value"), ("-Infinity", "digit"),
    (#""abc"#, "no closing quote"), (#"""#, "no closing quote"), (#""\"#, "no closing quote"), (#""\x""#, "unknown escape"),
    (#""\u12g4""#, "hexadecimal"), (#""\u12""#, "hexadecimal"), (#""\ud800""#, "surrogate"), (#""\ud800\u0041""#, "surrogate"),
    (#""\udc00""#, "surrogate"), ("\"a\nb\"", "control character"),
  ])
  func refuses(_ text: String, _ message: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test func refusesBadUTF8() {
    for bytes in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xC0, 0x80, 0x22],
    ] as [[UInt8]] {
      #expect(throws: JSONSyntaxError.self) { try parse(bytes) }
    }
  }

  @Test func depthIsLimited() throws {
    _ = try JSONValue(parsing: String(repeating: "[", count: 100) + String(repeating: "]", count: 100))
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: String(repeating: "[", count: 200_000)) }
    #expect(error?.message == "nested deeper than 100")
    #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "[[1]]", as: JSONDialect(deepest: 1)) }
  }

  @Test func tellsTheByte() {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "[1, x]") }
    #expect(error?.description == "not valid JSON at byte 4: expected a value")
  }

  @Test func readsWhatPythonWrites() throws {
    #expect(try JSONValue(parsing: "[-Infinity, Infinity]", as: .python) == [.number(-.infinity), .number(.infinity)])
    #expect(try JSONValue(parsing: "[NaN]", as: .python).array?[0].double?.isNaN == true)
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: #"{"a": 1, "a": 2}"#, as: .python) }
    #expect(error?.message == "key 'a' occurs twice")
    #expect(try JSONValue(parsing: #"{"a": 1, "a": 2}"#)["a"] == 2)
  }

  @Test func canonicallyEqualKeysStayApart() throws {
    let composed = "\u{E9}"
    let decomposed = "e\u{301}"
    let value = try JSONValue(parsing: #"{"\#(composed)": 1, "\#(decomposed)": 2}"#, as: .python)
    #expect(value.object?.count == 2)
    #expect(value[composed] == 1 && value[decomposed] == 2)
    #expect(value != .object([composed: 1, "x": 2]))
    var object: JSONObject = [:]
    object[composed] = 1
    object[decomposed] = 2
    #expect(object.count == 2 && JSONValue.object(object) == value)
    object[decomposed] = nil
    #expect(object.keys.map { Array($0.utf8) } == [Array(composed.utf8)])
  }

  @Test func objectsKeepTheirOrderAndCompareWithoutIt() throws {
    let one = try #require(try JSONValue(parsing: #"{"b": 1, "a": 2}"#).object)
    let other = try #require(try JSONValue(parsing: #"{"a": 2, "b": 1}"#).object)
    #expect(one.keys == ["b", "a"])
    #expect(one == other && Set([one, other]).count == 1)
    #expect(one != other.merging(["a": 3]) && one != other.filter { $0.key == "a" })
    #expect(JSONValue.object(one).description == #"{"a": 2, "b": 1}"#)
  }

  @Test func writesWhatItReads() throws {
    let value: JSONValue = [
      "text": "a\"b\\c\n\u{1}ü", "list": [1, 2.5, true, nil, []], "nested": ["deep": ["er": -0.1]], "empty": .object([:]),
    ]
    #expect(try JSONValue(parsing: value.text()) == value)
    #expect(try JSONValue(parsing: value.description) == value)
    #expect(JSONValue.array([1, "a"]).description == #"[1, "a"]"#)
    #expect(JSONValue.array([1]).text() == "[\n  1\n]")
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func whatIsNotFiniteIsNullUnlessPythonReadsIt(_ value: Double) throws {
    #expect(JSONValue.number(value).description == "null")
    #expect(JSONValue(shortest: value) == .null)
    let read = try JSONValue(parsing: JSONValue.number(value).text(nonFinite: .python), as: .python).double
    #expect(read?.bitPattern == value.bitPattern)
  }

  @Test func survivesCoding() throws {
    let value: JSONValue = ["a": [1, 2.5, "x", nil, true], "b": ["c": -3], "d": .object([:])]
    #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONObject.self, from: Data("[1]".utf8)) }
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
