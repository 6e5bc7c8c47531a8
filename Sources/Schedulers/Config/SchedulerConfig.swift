public import JSON

/// The keys that a `scheduler_config.json` stores explicitly, before a scheduler class adds its own defaults.
///
/// Building another class from the same config is diffusers' `from_config`: stored keys that the new class knows carry
/// over, everything else takes the new class's default, keys it doesn't know are ignored.
public struct SchedulerConfig: Sendable, Hashable {
  /// `_class_name`, the class that wrote the file; nil when it isn't stored.
  public var className: String?
  /// All stored keys but those that start with an underscore.
  public var values: JSONObject

  /// Makes a config from stored values.
  public init(className: String? = nil, values: JSONObject = [:]) {
    self.className = className
    self.values = values
  }

  /// Takes a `scheduler_config.json` that was read as ``JSONDialect/python``: infinities may stand in it.
  ///
  /// - Throws: `invalidConfig` when it isn't an object, or its class isn't a text.
  public init(json: JSONValue) throws(SchedulerError) {
    guard let members = json.object else {
      throw SchedulerError(.invalidConfig, "scheduler config: expected a JSON object, found something else")
    }
    switch members["_class_name"] {
    case .string(let name): className = name
    case nil, .null: className = nil
    case .some(let other):
      throw SchedulerError(.invalidConfig, "scheduler config: _class_name: expected a string, found \(other)")
    }
    values = members.filter { !$0.key.hasPrefix("_") }
  }

  /// The config as diffusers writes it.
  public var json: JSONValue {
    var members = values
    if let className { members["_class_name"] = .string(className) }
    return .object(members)
  }

  /// The same config with some keys replaced, as `from_config(config, key=value)` does.
  public func merging(_ overrides: JSONObject) -> SchedulerConfig {
    SchedulerConfig(className: className, values: values.merging(overrides))
  }
}
