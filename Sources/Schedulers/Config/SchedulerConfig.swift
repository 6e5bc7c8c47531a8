public import Foundation

/// The keys that a `scheduler_config.json` stores explicitly, before a scheduler class adds its own defaults.
///
/// Building another class from the same config is diffusers' `from_config`: stored keys that the new class knows carry
/// over, everything else takes the new class's default, keys it doesn't know are ignored.
public struct SchedulerConfig: Sendable, Equatable {
  /// One stored value.
  public enum Value: Sendable, Equatable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([Value])
    case object([String: Value])

    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else if let value = try? container.decode(String.self) {
        self = .string(value)
      } else if let value = try? container.decode([Value].self) {
        self = .array(value)
      } else {
        self = .object(try container.decode([String: Value].self))
      }
    }
  }

  /// `_class_name`, the class that wrote the file; nil when it isn't stored.
  public var className: String?
  /// All stored keys but those that start with an underscore.
  public var values: [String: Value]

  /// Makes a config from stored values.
  public init(className: String? = nil, values: [String: Value] = [:]) {
    self.className = className
    self.values = values
  }

  /// Reads a `scheduler_config.json`; Python's bare `Infinity`, `-Infinity` and `NaN` are understood.
  ///
  /// - Parameters:
  ///   - json: The file's bytes.
  ///   - defaultClass: The class to assume when the file doesn't name one.
  /// - Throws: `invalidConfig` when it isn't a JSON object.
  public init(json: Data, defaultClass: String? = nil) throws(SchedulerError) {
    let decoded: [String: Value]
    do {
      decoded = try JSONDecoder().decode([String: Value].self, from: Self.quotingNonFiniteNumbers(in: json))
    } catch {
      throw SchedulerError(.invalidConfig, "scheduler config: expected a JSON object, found something else (\(error))")
    }
    switch decoded["_class_name"] {
    case .string(let name): className = name
    case nil, .null: className = defaultClass
    case .some(let other):
      throw SchedulerError(.invalidConfig, "scheduler config: _class_name: expected a string, found \(other)")
    }
    values = decoded.filter { !$0.key.hasPrefix("_") }
  }

  /// The same config with some keys replaced, as `from_config(config, key=value)` does.
  public func merging(_ overrides: [String: Value]) -> SchedulerConfig {
    SchedulerConfig(className: className, values: values.merging(overrides) { $1 })
  }

  /// Python's `json` writes infinities bare; as strings they pass a strict parser and are read back as numbers.
  private static func quotingNonFiniteNumbers(in json: Data) -> Data {
    let words = ["-Infinity", "Infinity", "NaN"].map { Array($0.utf8) }
    let bytes = [UInt8](json)
    var result = Data(capacity: bytes.count + 16)
    var isInString = false
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if isInString, byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
        result.append(contentsOf: bytes[index...(index + 1)])
        index += 2
        continue
      }
      if byte == UInt8(ascii: "\"") { isInString.toggle() }
      if !isInString, let word = words.first(where: { bytes[index...].starts(with: $0) }) {
        result.append(UInt8(ascii: "\""))
        result.append(contentsOf: word)
        result.append(UInt8(ascii: "\""))
        index += word.count
        continue
      }
      result.append(byte)
      index += 1
    }
    return result
  }
}

extension SchedulerConfig.Value: CustomStringConvertible {
  /// The value as JSON writes it.
  public var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let value): value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    case .string(let value): "\"\(value)\""
    case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
    case .object(let values):
      "{" + values.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ") + "}"
    }
  }
}
