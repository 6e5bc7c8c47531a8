extension JSONValue {
  /// Parses text.
  ///
  /// - Parameters:
  ///   - bytes: UTF-8.
  ///   - file: What messages call the origin.
  /// - Throws: ``CheckpointError`` `.invalid` with the byte offset.
  public init(parsing bytes: UnsafeRawBufferPointer, file: String) throws(CheckpointError) {
    do {
      self = try JSONParser.parse(bytes)
    } catch {
      throw CheckpointError(.invalid, file: file, "not valid JSON at byte \(error.offset): \(error.message)")
    }
  }

  /// Parses a file.
  ///
  /// - Throws: ``CheckpointError`` `.missing` or `.invalid`.
  public init(contentsOf path: String) throws(CheckpointError) {
    let file = try MappedFile(path: path)
    self = try withExtendedLifetime(file) { () throws(CheckpointError) in
      try JSONValue(parsing: file.bytes, file: path)
    }
  }
}
