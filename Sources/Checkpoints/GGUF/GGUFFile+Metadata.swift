extension GGUFFile {
  private func require<Value>(_ key: String, _ expected: String, _ value: (GGUFValue) -> Value?) throws(CheckpointError)
    -> Value
  {
    guard let stored = metadata[key] else {
      throw CheckpointError(.invalid, file: location, "key '\(key)': expected \(expected), found nothing; is it the right file?")
    }
    guard let value = value(stored) else {
      throw CheckpointError(.invalid, file: location, "key '\(key)': expected \(expected), found another type")
    }
    return value
  }

  /// A whole number that must be there and lie in a range.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func requireInt(_ key: String, in range: ClosedRange<Int> = 0...Int(Int32.max)) throws(CheckpointError) -> Int {
    let value = try require(key, "a whole number", \.int)
    guard range.contains(value) else {
      throw CheckpointError(
        .invalid, file: location, "key '\(key)': expected \(range.lowerBound) to \(range.upperBound), found \(value)")
    }
    return value
  }

  /// A finite number that must be there.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func requireDouble(_ key: String) throws(CheckpointError) -> Double {
    try require(key, "a finite number") { $0.double.flatMap { $0.isFinite ? $0 : nil } }
  }

  /// A string that must be there.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func requireString(_ key: String) throws(CheckpointError) -> String { try require(key, "a string", \.string) }

  /// An array of strings that must be there.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func requireStrings(_ key: String) throws(CheckpointError) -> [String] {
    try require(key, "an array of strings", \.strings)
  }

  /// The kind of model, `general.architecture`: `llama`, `qwen2vl`, `clip`, …; stable-diffusion.cpp writes none.
  public var architecture: String? { metadata["general.architecture"]?.string }
}
