/// An optional that is written as `null` when it's nil: "not measured" is told, not left out.
@propertyWrapper
public struct NullEncoded<Value: Codable & Sendable & Hashable>: Codable, Sendable, Hashable {
  /// The value.
  public var wrappedValue: Value?

  /// Wraps a value.
  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  /// Reads a value or `null`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  /// Writes the value or `null`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

extension KeyedDecodingContainer {
  /// An absent key is nil too: readers take files of older minor versions.
  public func decode<Value>(_ type: NullEncoded<Value>.Type, forKey key: Key) throws -> NullEncoded<Value> {
    try decodeIfPresent(type, forKey: key) ?? NullEncoded(wrappedValue: nil)
  }
}
