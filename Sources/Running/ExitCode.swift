/// What the numbers that the shell sees mean: all exit codes are here and nowhere else.
public enum ExitCode: Int32, Sendable, CaseIterable {
  case success = 0
  /// A performance regression was confirmed.
  case regression = 2
  /// A case failed to run.
  case caseFailed = 3
  /// The baseline isn't there.
  case baselineNotFound = 5
  /// Conformance or accuracy failed; beats a regression.
  case nonconforming = 7
  /// Nothing could be concluded, and the caller wanted to know.
  case inconclusive = 8
  /// Not everything was done.
  case incomplete = 9
  /// The arguments are wrong.
  case usage = 64
  /// An input is damaged or doesn't fit.
  case badInput = 65
  /// An input isn't there.
  case inputMissing = 66
  /// The backend can't be reached or built.
  case backendUnavailable = 69
  /// A mistake in this program.
  case internalError = 70
  /// An output can't be written.
  case cannotWrite = 73
  /// Stopped by Ctrl-C.
  case interrupted = 130
  /// Stopped by a request to terminate.
  case terminated = 143

  /// A word for messages.
  package var word: String {
    switch self {
    case .success: "success"
    case .regression: "regression"
    case .caseFailed: "case failed"
    case .baselineNotFound: "baseline not found"
    case .nonconforming: "nonconforming"
    case .inconclusive: "inconclusive"
    case .incomplete: "incomplete"
    case .usage: "usage"
    case .badInput: "bad input"
    case .inputMissing: "input missing"
    case .backendUnavailable: "backend unavailable"
    case .internalError: "internal error"
    case .cannotWrite: "cannot write"
    case .interrupted: "interrupted"
    case .terminated: "terminated"
    }
  }
}

/// A command that can't go on, with the exit code that says so.
package struct CommandError: Error, Hashable, CustomStringConvertible {
  package var kind: ExitCode
  package var message: String

  package init(_ kind: ExitCode, _ message: String) {
    self.kind = kind
    self.message = message
  }

  package var description: String { message }
}

/// A value that a setting can't have.
public struct SettingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected and found.
  public let message: String

  /// Makes an error.
  public init(_ message: String) { self.message = message }

  /// The message.
  public var description: String { message }
}
