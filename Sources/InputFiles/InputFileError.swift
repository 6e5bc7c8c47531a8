/// A file that can't be read whole.
public struct InputFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is.
  public enum Code: Sendable {
    /// It isn't there or can't be opened.
    case missing
    /// It is something else than a file or a stream, or longer than allowed.
    case invalid
    /// Reading was given up on request.
    case cancelled
  }

  /// The kind of trouble.
  public let code: Code
  /// The path.
  public let file: String
  /// The message without the path.
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
