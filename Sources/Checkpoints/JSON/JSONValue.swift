/// Any JSON value, for configurations whose keys belong to somebody else.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number written without fraction and exponent that fits `Int`.
  case integer(Int)
  /// Any other number; also Python's `NaN`, `Infinity` and `-Infinity`, which diffusers writes into scheduler files.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The value as a whole number: an integer, or a number without fraction.
  public var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The value as a number.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The value when it's true or false.
  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The value when it's a string.
  public var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The elements when it's an array.
  public var array: [JSONValue]? {
    guard case .array(let value) = self else { return nil }
    return value
  }

  /// The members when it's an object.
  public var object: [String: JSONValue]? {
    guard case .object(let value) = self else { return nil }
    return value
  }

  /// Whether it's `null`.
  public var isNull: Bool { self == .null }

  /// A member of an object; nil for absent keys and for anything that's no object.
  public subscript(key: String) -> JSONValue? { object?[key] }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Makes `null`.
  public init(nilLiteral: ()) { self = .null }
  /// Makes `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Makes an integer.
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// Makes a number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// Makes a string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Makes an array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Makes an object; of equal keys the last one counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}

extension JSONValue: Codable {
  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// Writes the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON text, keys sorted, on one line.
  public var description: String { text(indent: nil) }

  /// The value as JSON text with sorted keys.
  ///
  /// - Parameter indent: Spaces a level, each member on a line of its own; nil writes one line.
  public func text(indent: Int? = 2) -> String {
    var result = ""
    write(to: &result, indent: indent, depth: 0)
    return result
  }

  private func write(to result: inout String, indent: Int?, depth: Int) {
    func newLine(_ depth: Int) {
      guard let indent else { return }
      result += "\n" + String(repeating: " ", count: indent * depth)
    }
    switch self {
    case .null: result += "null"
    case .bool(let value): result += value ? "true" : "false"
    case .integer(let value): result += String(value)
    case .number(let value):
      result += value.isNaN ? "NaN" : value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : "\(value)"
    case .string(let value): Self.write(value, to: &result)
    case .array(let values):
      result += "["
      for (position, value) in values.enumerated() {
        if position > 0 { result += indent == nil ? ", " : "," }
        newLine(depth + 1)
        value.write(to: &result, indent: indent, depth: depth + 1)
      }
      if !values.isEmpty { newLine(depth) }
      result += "]"
    case .object(let members):
      result += "{"
      for (position, key) in members.keys.sorted().enumerated() {
        if position > 0 { result += indent == nil ? ", " : "," }
        newLine(depth + 1)
        Self.write(key, to: &result)
        result += ": "
        members[key]?.write(to: &result, indent: indent, depth: depth + 1)
      }
      if !members.isEmpty { newLine(depth) }
      result += "}"
    }
  }

  private static func write(_ string: String, to result: inout String) {
    result += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if scalar.value < 0x20 {
          let hex = String(scalar.value, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    result += "\""
  }
}
