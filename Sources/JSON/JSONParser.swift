/// What a reader of JSON takes beyond RFC 8259, and what it refuses.
public struct JSONDialect: Sendable, Hashable {
  /// Whether `NaN`, `Infinity` and `-Infinity` are numbers, as Python writes and reads them.
  public var takesNonFiniteNumbers: Bool
  /// Whether a key that stands twice in an object is an error; otherwise the last one counts.
  public var refusesRepeatedKeys: Bool
  /// Objects and arrays within each other, at most.
  public var deepest: Int

  /// Makes a dialect.
  public init(takesNonFiniteNumbers: Bool = false, refusesRepeatedKeys: Bool = false, deepest: Int = 100) {
    self.takesNonFiniteNumbers = takesNonFiniteNumbers
    self.refusesRepeatedKeys = refusesRepeatedKeys
    self.deepest = deepest
  }

  /// RFC 8259.
  public static let standard = JSONDialect()
  /// What Python's `json` module writes, each key once: configurations of models.
  public static let python = JSONDialect(takesNonFiniteNumbers: true, refusesRepeatedKeys: true)
}

extension JSONValue {
  /// Reads a text.
  ///
  /// - Parameter bytes: UTF-8 without a byte order mark.
  /// - Throws: ``JSONSyntaxError``.
  public init(parsing bytes: UnsafeRawBufferPointer, as dialect: JSONDialect = .standard) throws(JSONSyntaxError) {
    var parser = JSONParser(bytes, dialect)
    self = try parser.document()
  }

  /// Reads a text.
  ///
  /// - Throws: ``JSONSyntaxError``.
  public init(parsing text: String, as dialect: JSONDialect = .standard) throws(JSONSyntaxError) {
    var text = text
    let result = text.withUTF8 { bytes -> Result<JSONValue, JSONSyntaxError> in
      var parser = JSONParser(UnsafeRawBufferPointer(bytes), dialect)
      return Result { () throws(JSONSyntaxError) in try parser.document() }
    }
    self = try result.get()
  }
}

/// Reads one document.
private struct JSONParser {
  private let bytes: UnsafeRawBufferPointer
  private let dialect: JSONDialect
  private var position = 0
  private var depth = 0

  init(_ bytes: UnsafeRawBufferPointer, _ dialect: JSONDialect) {
    self.bytes = bytes
    self.dialect = dialect
  }

  mutating func document() throws(JSONSyntaxError) -> JSONValue {
    let result = try value()
    skipSpace()
    guard position == bytes.count else { throw failure("expected the end of the text after the value") }
    return result
  }

  private func failure(_ message: String) -> JSONSyntaxError { JSONSyntaxError(offset: position, message: message) }

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

  private mutating func takeWord(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    for index in 0..<count where bytes[position + index] != word.utf8Start[index] { return false }
    position += count
    return true
  }

  private mutating func value() throws(JSONSyntaxError) -> JSONValue {
    skipSpace()
    guard let byte = next else { throw failure("expected a value, found the end of the text") }
    switch byte {
    case UInt8(ascii: "{"): return .object(try object())
    case UInt8(ascii: "["): return .array(try array())
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "-"):
      if dialect.takesNonFiniteNumbers, takeWord("-Infinity") { return .number(-.infinity) }
      return try number()
    default:
      if takeWord("true") { return .bool(true) }
      if takeWord("false") { return .bool(false) }
      if takeWord("null") { return .null }
      if dialect.takesNonFiniteNumbers {
        if takeWord("NaN") { return .number(.nan) }
        if takeWord("Infinity") { return .number(.infinity) }
      }
      throw failure("expected a value")
    }
  }

  private mutating func enter() throws(JSONSyntaxError) {
    depth += 1
    guard depth <= dialect.deepest else { throw failure("nested deeper than \(dialect.deepest)") }
    position += 1
  }

  private mutating func object() throws(JSONSyntaxError) -> JSONObject {
    try enter()
    defer { depth -= 1 }
    var members: [JSONObject.Element] = []
    if take(UInt8(ascii: "}")) { return JSONObject() }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
      let key = try string()
      guard take(UInt8(ascii: ":")) else { throw failure("expected ':' after key '\(key)'") }
      members.append((key, try value()))
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw failure("expected ',' or '}'") }
    let object = JSONObject(unchecked: members)
    if dialect.refusesRepeatedKeys, let key = object.repeatedKey { throw failure("key '\(key)' occurs twice") }
    return object
  }

  private mutating func array() throws(JSONSyntaxError) -> [JSONValue] {
    try enter()
    defer { depth -= 1 }
    var elements: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return elements }
    repeat { elements.append(try value()) } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw failure("expected ',' or ']'") }
    return elements
  }

  private mutating func number() throws(JSONSyntaxError) -> JSONValue {
    let start = position
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false }
    if next == UInt8(ascii: "-") { position += 1 }
    guard isDigit(next) else { throw failure("expected a digit") }
    if next == UInt8(ascii: "0") { position += 1 } else { while isDigit(next) { position += 1 } }
    var isWhole = true
    if next == UInt8(ascii: ".") {
      isWhole = false
      position += 1
      guard isDigit(next) else { throw failure("expected a digit after the point") }
      while isDigit(next) { position += 1 }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isWhole = false
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard isDigit(next) else { throw failure("expected a digit in the exponent") }
      while isDigit(next) { position += 1 }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let value = Int(text) { return .integer(value) }
    if isWhole, let value = UInt64(text) { return .unsigned(value) }
    guard let value = Double(text), value.isFinite else { throw failure("the number \(text) is out of range") }
    return .number(value)
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
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
      case ..<0x20: throw failure("a control character stands in a string")
      default:
        content.append(byte)
        position += 1
      }
    }
    throw failure("a string has no closing quote")
  }

  private func validated(_ content: some Collection<UInt8>) throws(JSONSyntaxError) -> String {
    guard let text = String(validating: content, as: UTF8.self) else { throw failure("a string isn't valid UTF-8") }
    return text
  }

  private mutating func escape(into content: inout [UInt8]) throws(JSONSyntaxError) {
    position += 1
    guard let kind = next else { throw failure("a string has no closing quote") }
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
        guard 0xDC00...0xDFFF ~= low else { throw failure("half a surrogate pair stands in a string") }
        unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(unit) else { throw failure("half a surrogate pair stands in a string") }
      content.append(contentsOf: String(scalar).utf8)
    default: throw failure("unknown escape in a string")
    }
  }

  private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw failure("expected four hexadecimal digits after \\u")
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }
}
