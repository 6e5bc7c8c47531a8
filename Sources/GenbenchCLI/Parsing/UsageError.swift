/// Arguments that a command doesn't take (exit 64).
public struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, as a sentence without a full stop unless a hint follows.
  public var message: String
  /// The command that refused: `["genbench", "run"]`; filled in by the parser.
  public var path: [String]

  /// Makes an error.
  public init(_ message: String, path: [String] = []) {
    self.message = message
    self.path = path
  }

  /// The message.
  public var description: String { message }
}
