/// A JSON value, read without Foundation.
///
/// A tokenizer's files are large tables of texts that must keep their bytes: Foundation takes half a second where this
/// takes a few hundredths, and a dictionary of Swift strings would take canonically equal texts for one.
enum JSONValue {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([(key: String, value: JSONValue)])

  /// The value of a key; the last one when a key is repeated.
  subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.key.utf8.elementsEqual(key.utf8) }?.value
  }

  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  var integer: Int? { if case .integer(let value) = self { value } else { nil } }
  var string: String? { if case .string(let value) = self { value } else { nil } }
  var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  var object: [(key: String, value: JSONValue)]? { if case .object(let value) = self { value } else { nil } }
  var isNull: Bool { if case .null = self { true } else { false } }

  /// What is wrong with a text that isn't JSON, and where.
  struct SyntaxError: Error, Equatable {
    var offset: Int
    var message: String
  }

  /// Reads a JSON text (RFC 8259).
  ///
  /// - Throws: ``SyntaxError``.
  init(parsing bytes: UnsafeBufferPointer<UInt8>) throws(SyntaxError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }
}

private struct JSONParser {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var depth = 0
  private static let deepest = 100

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  mutating func document() throws(JSONValue.SyntaxError) -> JSONValue {
    let result = try value()
    skipSpace()
    guard position == bytes.count else { throw failure("expected the end of the text") }
    return result
  }

  private func failure(_ message: String) -> JSONValue.SyntaxError { .init(offset: position, message: message) }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func value() throws(JSONValue.SyntaxError) -> JSONValue {
    skipSpace()
    guard let byte = next else { throw failure("expected a value, found the end of the text") }
    switch byte {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default:
      if takeWord("true") { return .bool(true) }
      if takeWord("false") { return .bool(false) }
      if takeWord("null") { return .null }
      throw failure("expected a value")
    }
  }

  private mutating func takeWord(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    for index in 0..<count where bytes[position + index] != word.utf8Start[index] { return false }
    position += count
    return true
  }

  private mutating func enter() throws(JSONValue.SyntaxError) {
    depth += 1
    guard depth <= Self.deepest else { throw failure("nested more than \(Self.deepest) deep") }
    position += 1
  }

  private mutating func object() throws(JSONValue.SyntaxError) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var members: [(key: String, value: JSONValue)] = []
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
      let key = try string()
      guard take(UInt8(ascii: ":")) else { throw failure("expected a colon after the key '\(key)'") }
      members.append((key, try value()))
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw failure("expected a comma or a closing brace") }
    return .object(members)
  }

  private mutating func array() throws(JSONValue.SyntaxError) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var items: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return .array(items) }
    repeat { items.append(try value()) } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw failure("expected a comma or a closing bracket") }
    return .array(items)
  }

  private mutating func number() throws(JSONValue.SyntaxError) -> JSONValue {
    let start = position
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false }
    if next == UInt8(ascii: "-") { position += 1 }
    guard isDigit(next) else { throw failure("expected a digit") }
    if next == UInt8(ascii: "0") { position += 1 } else { while isDigit(next) { position += 1 } }
    var isInteger = true
    if next == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      guard isDigit(next) else { throw failure("expected a digit after the point") }
      while isDigit(next) { position += 1 }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isInteger = false
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard isDigit(next) else { throw failure("expected a digit in the exponent") }
      while isDigit(next) { position += 1 }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isInteger, let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else { throw failure("the number \(text) is out of range") }
    return .number(value)
  }

  private mutating func string() throws(JSONValue.SyntaxError) -> String {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
    if next == UInt8(ascii: "\"") {
      let text = try validated(bytes[start..<position])
      position += 1
      return text
    }
    var content = Array(bytes[start..<position])
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        let text = try validated(content)
        position += 1
        return text
      case UInt8(ascii: "\\"): try escape(into: &content)
      case ..<0x20: throw failure("a control character in a text")
      default:
        content.append(byte)
        position += 1
      }
    }
    throw failure("a text without its closing quote")
  }

  private func validated(_ content: some Collection<UInt8>) throws(JSONValue.SyntaxError) -> String {
    guard let text = String(validating: content, as: UTF8.self) else { throw failure("a text that isn't UTF-8") }
    return text
  }

  private mutating func escape(into content: inout [UInt8]) throws(JSONValue.SyntaxError) {
    position += 1
    guard let kind = next else { throw failure("a text without its closing quote") }
    position += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(kind)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"):
      var unit = try hexadecimal()
      if 0xD800...0xDBFF ~= unit, takeWord("\\u") {
        let low = try hexadecimal()
        guard 0xDC00...0xDFFF ~= low else { throw failure("half of a surrogate pair") }
        unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
      }
      guard Unicode.Scalar(unit) != nil else { throw failure("half of a surrogate pair") }
      UTF8Bytes.forEach(of: unit) { content.append($0) }
    default: throw failure("an unknown escape")
    }
  }

  private mutating func hexadecimal() throws(JSONValue.SyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw failure("expected four hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }
}
