/// What a scheduler refuses, with what was expected, found, and how to help it.
public struct SchedulerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is; decides the exit code of the command line.
  public enum Code: String, Sendable {
    /// A `scheduler_config.json` that can't be read or holds a value outside its domain (exit 65).
    case invalidConfig
    /// Valid, but of a kind that isn't supported (exit 65).
    case unsupported
    /// A name that no scheduler has (exit 64).
    case unknownName
    /// A step count or strength that this schedule can't serve (exit 64).
    case invalidArgument
    /// A call out of order, or with tensors that don't fit: a mistake of the calling code.
    case invalidCall
  }

  /// The kind of trouble.
  public let code: Code
  /// Thing, expected, found, remedy.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
