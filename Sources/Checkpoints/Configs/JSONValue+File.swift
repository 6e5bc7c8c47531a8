// The values of configurations belong to this module's surface.
@_exported public import JSON

extension JSONValue {
  /// Parses text.
  ///
  /// - Parameters:
  ///   - bytes: UTF-8.
  ///   - file: What messages call the origin.
  /// - Throws: ``CheckpointError`` `.invalid` with the byte offset.
  public init(parsing bytes: UnsafeRawBufferPointer, file: String) throws(CheckpointError) {
    do {
      self = try JSONValue(parsing: bytes, as: .python)
    } catch {
      throw CheckpointError(.invalid, file: file, error.description)
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
