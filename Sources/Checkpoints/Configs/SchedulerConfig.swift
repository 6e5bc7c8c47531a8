/// What the network's output means.
public enum PredictionType: String, Sendable, Hashable, Codable, CaseIterable {
  /// The noise.
  case epsilon
  /// `sqrt(alpha) noise - sqrt(1 - alpha) sample` (Salimans & Ho 2022).
  case vPrediction = "v_prediction"
  /// The sample without noise.
  case sample
}

/// A `scheduler_config.json` as it lies in the folder: only the keys that are stored, so that defaults can be merged per class.
public struct SchedulerConfig: Sendable, Hashable {
  /// The class in diffusers, such as `PNDMScheduler`.
  public var className: String
  /// All other keys with their stored values.
  public var values: [String: JSONValue]

  /// Makes a configuration.
  public init(className: String, values: [String: JSONValue]) {
    self.className = className
    self.values = values
  }

  /// Reads a `scheduler_config.json`.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` when it's no object or has no class name.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    guard let name = reader.value("_class_name")?.string else {
      throw reader.invalid("_class_name", expected: "the name of a scheduler class")
    }
    className = name
    values = reader.values
    values["_class_name"] = nil
    values["_diffusers_version"] = nil
  }

  /// Reads the file at a path.
  ///
  /// - Throws: ``CheckpointError``.
  public init(contentsOf path: String) throws(CheckpointError) {
    try self.init(json: JSONValue(contentsOf: path), file: path)
  }

  /// The configuration as diffusers writes it.
  public var json: JSONValue {
    var members = values
    members["_class_name"] = .string(className)
    return .object(members)
  }
}
