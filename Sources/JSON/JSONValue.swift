/// Any JSON value (RFC 8259), read and written without Foundation.
///
/// Numbers without fraction and exponent keep all digits of 64 bits. Members of an object keep their order, and their keys are
/// compared scalar by scalar: canonically equal texts, which Swift takes for one, stay apart.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number written without fraction and exponent that fits `Int`.
  case integer(Int)
  /// A number written without fraction and exponent between `Int.max` and `UInt64.max`; ``init(_:)-(UInt64)`` chooses.
  case unsigned(UInt64)
  /// Any other number; not finite only when it came from what Python writes as `NaN`, `Infinity` and `-Infinity`.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// Makes a whole number, exact over the whole range.
  public init(_ value: UInt64) { self = Int(exactly: value).map { .integer($0) } ?? .unsigned(value) }

  /// Makes a number; whole ones that fit are integers, and what isn't finite is `null`, since JSON has no word for it.
  public init(shortest value: Double) {
    self = Int(exactly: value).map { .integer($0) } ?? (value.isFinite ? .number(value) : .null)
  }

  /// Makes an object; of equal keys the last one counts.
  public static func object(_ members: [String: JSONValue]) -> JSONValue { .object(JSONObject(members)) }

  /// The value as a whole number: an integer, or a number without fraction that fits.
  public var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The value as a whole number of 64 bits without sign.
  public var uint64: UInt64? {
    switch self {
    case .integer(let value): UInt64(exactly: value)
    case .unsigned(let value): value
    case .number(let value): UInt64(exactly: value)
    default: nil
    }
  }

  /// The value as a number, rounded when it has more digits than `Double`.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
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
  public var object: JSONObject? {
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
    var object = JSONObject()
    for (key, value) in elements { object[key] = value }
    self = .object(object)
  }
}

extension JSONValue: Codable {
  private struct MemberKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: MemberKey.self) {
      var object = JSONObject()
      for key in container.allKeys { object[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
      self = .object(object)
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else {
      self = .array(try container.decode([JSONValue].self))
    }
  }

  /// Writes the value.
  public func encode(to encoder: any Encoder) throws {
    if case .object(let members) = self {
      var container = encoder.container(keyedBy: MemberKey.self)
      for (key, value) in members { try container.encode(value, forKey: MemberKey(stringValue: key)) }
      return
    }
    var container = encoder.singleValueContainer()
    switch self {
    case .null, .object: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    }
  }
}
