import Checkpoints

/// Tells what is certainly no model.
enum ContentCheck {
  /// The SHA-256 of nothing.
  private static let emptySum = SHA256.hex([])

  /// What is wrong with a file of a model; nil when nothing is to be seen.
  static func problem(_ head: [UInt8], byteCount: Int, of file: ModelFileDescriptor) -> String? {
    if byteCount == 0, file.sizeBytes != 0, file.sha256?.lowercased() != emptySum {
      return "an empty file arrived; it isn't taken unless it was registered with that size"
    }
    return problem(head, byteCount: byteCount, path: file.filename)
  }

  /// The same for a file that is one of many, which may be empty when it holds no weights.
  static func problem(_ head: [UInt8], byteCount: Int, path: String) -> String? {
    ForeignContent.problem(head, byteCount: byteCount, expected: .init(name: path))
  }
}
