/// What is wrong with a text that isn't JSON, and where.
public struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The byte, from 0, at which reading stopped.
  public let offset: Int
  /// What was expected there.
  public let message: String

  /// Both.
  public var description: String { "not valid JSON at byte \(offset): \(message)" }
}
