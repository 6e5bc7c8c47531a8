/// A metadata value of a GGUF file; widths are dropped, values are kept.
public enum GGUFValue: Sendable, Hashable {
  case integer(Int)
  /// A u64 beyond `Int.max`.
  case unsigned(UInt64)
  case number(Double)
  case bool(Bool)
  case string(String)
  case array(GGUFArray)

  /// The value as a whole number.
  public var int: Int? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// The value as a number.
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

  /// The value in a few words, for messages.
  public var summary: String {
    switch self {
    case .integer(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .number(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .string(let value): "'\(value.prefix(60))'"
    case .array(let array): "a list of \(array.count)"
    }
  }

  /// The elements of an array of whole numbers.
  public var ints: [Int]? {
    guard case .array(.integers(let values)) = self else { return nil }
    return values
  }

  /// The elements of an array of numbers, whole or not.
  public var doubles: [Double]? {
    switch self {
    case .array(.numbers(let values)): values
    case .array(.integers(let values)): values.map(Double.init)
    default: nil
    }
  }

  /// The elements of an array of strings.
  public var strings: [String]? {
    guard case .array(.strings(let values)) = self else { return nil }
    return values
  }
}

/// An array in the metadata of a GGUF file; all elements are of one type.
public enum GGUFArray: Sendable, Hashable {
  case integers([Int])
  case numbers([Double])
  case bools([Bool])
  case strings([String])
  case arrays([GGUFArray])

  /// The number of elements.
  public var count: Int {
    switch self {
    case .integers(let values): values.count
    case .numbers(let values): values.count
    case .bools(let values): values.count
    case .strings(let values): values.count
    case .arrays(let values): values.count
    }
  }
}
