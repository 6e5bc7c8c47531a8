/// Reads JSON strictly: no duplicate keys, bounded nesting, valid UTF-8; with Python's `NaN` and `Infinity` on top.
///
/// Grammar: RFC 8259. Foundation's reader keeps one of two equal keys silently and refuses the `-Infinity` of diffusers'
/// scheduler files, so this one is used for every header and configuration.
struct JSONParser {
  /// What is wrong, and at which byte.
  struct Failure: Error {
    let offset: Int
    let message: String
  }

  private static let maximumDepth = 64
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Parses exactly one value that fills `bytes`, but for white space.
  static func parse(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> JSONValue {
    var parser = JSONParser(bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.failure("found text after the value") }
    return value
  }

  private func failure(_ message: String) -> Failure { Failure(offset: position, message: message) }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard bytes.count - position >= length else { return false }
    for index in 0..<length where bytes[position + index] != text.utf8Start[index] { return false }
    position += length
    return true
  }

  private mutating func value(depth: Int) throws(Failure) -> JSONValue {
    guard depth < Self.maximumDepth else { throw failure("nested deeper than \(Self.maximumDepth) levels") }
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t") where take("true"): return .bool(true)
    case UInt8(ascii: "f") where take("false"): return .bool(false)
    case UInt8(ascii: "n") where take("null"): return .null
    case UInt8(ascii: "N") where take("NaN"): return .number(.nan)
    case UInt8(ascii: "I") where take("Infinity"): return .number(.infinity)
    case UInt8(ascii: "-") where take("-Infinity"): return .number(-.infinity)
    case nil: throw failure("expected a value, found the end")
    default: return try number()
    }
  }

  private mutating func object(depth: Int) throws(Failure) -> JSONValue {
    position += 1
    var members: [String: JSONValue] = [:]
    skipSpace()
    if take("}") { return .object(members) }
    while true {
      skipSpace()
      guard current == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
      let key = try string()
      skipSpace()
      guard take(":") else { throw failure("expected ':' after key '\(key)'") }
      guard members.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
        throw failure("key '\(key)' occurs twice")
      }
      skipSpace()
      if take(",") { continue }
      guard take("}") else { throw failure("expected ',' or '}'") }
      return .object(members)
    }
  }

  private mutating func array(depth: Int) throws(Failure) -> JSONValue {
    position += 1
    var elements: [JSONValue] = []
    skipSpace()
    if take("]") { return .array(elements) }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if take(",") { continue }
      guard take("]") else { throw failure("expected ',' or ']'") }
      return .array(elements)
    }
  }

  private mutating func number() throws(Failure) -> JSONValue {
    let start = position
    var isWhole = true
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { $0 >= 0x30 && $0 <= 0x39 } ?? false }
    _ = take("-")
    guard isDigit(current) else { throw failure("expected a value") }
    if !take("0") { while isDigit(current) { position += 1 } }
    if take(".") {
      isWhole = false
      guard isDigit(current) else { throw failure("expected a digit after '.'") }
      while isDigit(current) { position += 1 }
    }
    if take("e") || take("E") {
      isWhole = false
      if !take("+") { _ = take("-") }
      guard isDigit(current) else { throw failure("expected a digit in the exponent") }
      while isDigit(current) { position += 1 }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let value = Int(text) { return .integer(value) }
    guard let value = Double(text) else { throw failure("'\(text)' is no number") }
    return .number(value)
  }

  private mutating func string() throws(Failure) -> String {
    position += 1
    let start = position
    var scratch: [UInt8]?
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""):
        let raw = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        let text = scratch.map { String(validating: $0, as: UTF8.self) } ?? String(validating: raw, as: UTF8.self)
        guard let text else { throw failure("a string isn't valid UTF-8") }
        position += 1
        return text
      case UInt8(ascii: "\\"):
        if scratch == nil { scratch = Array(bytes[start..<position]) }
        position += 1
        let scalar = try escape()
        scratch?.append(contentsOf: String(Character(scalar)).utf8)
      case 0..<0x20: throw failure("a control character stands in a string")
      default:
        scratch?.append(byte)
        position += 1
      }
    }
    throw failure("a string has no closing quote")
  }

  private mutating func escape() throws(Failure) -> Unicode.Scalar {
    guard let byte = current else { throw failure("a string has no closing quote") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let high = try hexadecimal()
      if high & 0xFC00 == 0xD800, take("\\u") {
        let low = try hexadecimal()
        guard low & 0xFC00 == 0xDC00 else { throw failure("half a surrogate pair stands in a string") }
        let combined = 0x10000 + (UInt32(high & 0x3FF) << 10 | UInt32(low & 0x3FF))
        return Unicode.Scalar(combined) ?? "\u{FFFD}"
      }
      guard let scalar = Unicode.Scalar(UInt32(high)) else { throw failure("half a surrogate pair stands in a string") }
      return scalar
    default: throw failure("unknown escape in a string")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt16 {
    var result: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw failure("expected four hexadecimal digits after \\u")
      }
      result = result << 4 | UInt16(digit)
      position += 1
    }
    return result
  }
}
