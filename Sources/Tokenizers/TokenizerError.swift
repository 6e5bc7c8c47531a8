/// A tokenizer that can't be made or used: which file, what in it, what was expected, what was found, and what to do.
public struct TokenizerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is; decides the exit code of the command line.
  public enum Code: String, Sendable {
    /// The file or folder isn't there or can't be read (exit 66).
    case missing
    /// The content is damaged or contradicts itself (exit 65).
    case invalid
    /// Well-formed, but of a kind that isn't supported (exit 65).
    case unsupported
  }

  /// The kind of trouble.
  public let code: Code
  /// The path of the file or folder; another name of the source where there is no file.
  public let source: String
  /// The message without the path: thing, expected, found, remedy.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, source: String, _ message: String) {
    self.code = code
    self.source = source
    self.message = message
  }

  /// `path: message`.
  public var description: String { "\(source): \(message)" }
}
