/// A file that can't be used: which one, what in it, what was expected, what was found, and what to do.
public struct CheckpointError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is; decides the exit code of the command line.
  public enum Code: String, Sendable {
    /// The file or folder isn't there or can't be opened (exit 66).
    case missing
    /// The content is damaged, contradicts itself, or isn't what the loader needs (exit 65).
    case invalid
    /// Well-formed, but of a kind that isn't supported (exit 65).
    case unsupported
    /// Can't be written (exit 73).
    case unwritable
  }

  /// The kind of trouble.
  public let code: Code
  /// The path of the file or folder.
  public let file: String
  /// The message without the path: thing, expected, found, remedy.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, file: String, _ message: String) {
    self.code = code
    self.file = file
    self.message = message
  }

  /// `path: message`.
  public var description: String { "\(file): \(message)" }
}
