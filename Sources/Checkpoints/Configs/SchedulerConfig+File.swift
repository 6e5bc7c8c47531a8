// What a checkpoint says of its scheduler belongs to this module's surface.
@_exported public import Schedulers

extension SchedulerConfig {
  /// Reads a `scheduler_config.json`.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` when it's no object or has no class name.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    let reader = try ConfigReader(json, file: file)
    guard reader.value("_class_name")?.string != nil else {
      throw reader.invalid("_class_name", expected: "the name of a scheduler class")
    }
    do { try self.init(json: json) } catch { throw CheckpointError(.invalid, file: file, error.message) }
  }

  /// Reads the file at a path.
  ///
  /// - Throws: ``CheckpointError``.
  public init(contentsOf path: String) throws(CheckpointError) {
    try self.init(json: JSONValue(contentsOf: path), file: path)
  }
}
