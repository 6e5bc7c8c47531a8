import Checkpoints

/// Reads the metadata of a GGUF file by key, with errors that name the file and the key.
struct GGUFMetadata {
  let file: GGUFFile
  /// Put before every key: `llama.`, `clip.vision.`.
  let prefix: String

  init(_ file: GGUFFile, prefix: String = "") {
    self.file = file
    self.prefix = prefix
  }

  func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: file.location, message) }

  /// A whole number within limits.
  func int(_ key: String, in range: ClosedRange<Int>) throws(CheckpointError) -> Int {
    guard let value = try optionalInt(key, in: range) else {
      throw invalid("key '\(prefix + key)' is missing; convert the model anew")
    }
    return value
  }

  /// A whole number within limits, or nil when the key is absent.
  func optionalInt(_ key: String, in range: ClosedRange<Int>) throws(CheckpointError) -> Int? {
    guard let stored = file.metadata[prefix + key] else { return nil }
    guard let value = stored.int, range.contains(value) else {
      throw invalid(
        "key '\(prefix + key)': expected a whole number in \(range.lowerBound)...\(range.upperBound), found \(stored.summary)")
    }
    return value
  }

  /// A finite number above zero.
  func positive(_ key: String) throws(CheckpointError) -> Double {
    guard let value = try optionalPositive(key) else {
      throw invalid("key '\(prefix + key)' is missing; convert the model anew")
    }
    return value
  }

  /// A finite number above zero, or nil when the key is absent.
  func optionalPositive(_ key: String) throws(CheckpointError) -> Double? {
    guard let stored = file.metadata[prefix + key] else { return nil }
    guard let value = stored.double, value.isFinite, value > 0 else {
      throw invalid("key '\(prefix + key)': expected a number above 0, found \(stored.summary)")
    }
    return value
  }

  /// A truth value; absent is false.
  func bool(_ key: String) throws(CheckpointError) -> Bool {
    guard let stored = file.metadata[prefix + key] else { return false }
    guard let value = stored.bool else { throw invalid("key '\(prefix + key)': expected true or false, found \(stored.summary)") }
    return value
  }

  /// A text, or nil when the key is absent.
  func string(_ key: String) throws(CheckpointError) -> String? {
    guard let stored = file.metadata[prefix + key] else { return nil }
    guard let value = stored.string else { throw invalid("key '\(prefix + key)': expected a text") }
    return value
  }

  /// Three finite numbers: a value for each colour.
  func colour(_ key: String) throws(CheckpointError) -> [Float] {
    guard let values = file.metadata[prefix + key]?.doubles, values.count == 3, values.allSatisfy(\.isFinite) else {
      throw invalid("key '\(prefix + key)': expected 3 numbers, one for each colour")
    }
    return values.map(Float.init)
  }
}
