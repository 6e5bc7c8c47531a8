import Checkpoints
import GenBackend
import Imaging
import ModelRegistry
import Schedulers
import Tokenizers

/// How the program ends: all exit codes are here and nowhere else.
public struct ProgramExit: Sendable, Hashable {
  /// The number that the shell sees.
  public let code: Int32
  /// Why, for the last line on stderr; nil when there's nothing to say.
  public let reason: String?

  /// Makes a status.
  public init(_ kind: Kind, _ reason: String? = nil) {
    code = kind.rawValue
    self.reason = reason
  }

  /// All is well.
  public static let success = ProgramExit(.success)

  /// What the numbers mean.
  public enum Kind: Int32, Sendable, CaseIterable {
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
    var word: String {
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

  /// The status for an error that ended a command.
  ///
  /// - Parameter signal: The signal that cancelled the work, if one did.
  public init(_ error: any Error, signal: Int32? = nil) {
    switch error {
    case let error as UsageError: self.init(.usage, error.message)
    case let error as CommandError: self.init(error.kind, error.message)
    case let error as CheckpointError:
      let kind: Kind =
        switch error.code {
        case .missing: .inputMissing
        case .invalid, .unsupported: .badInput
        case .unwritable: .cannotWrite
        }
      self.init(kind, error.description)
    case let error as ImageError: self.init(ProgramExit.kind(of: error), error.description)
    case let error as TokenizerError: self.init(error.code == .missing ? .inputMissing : .badInput, error.description)
    case let error as SchedulerError: self.init(ProgramExit.kind(of: error), error.description)
    case let error as RegistryError: self.init(ProgramExit.kind(of: error, signal: signal), error.message)
    case let error as BackendError: self.init(ProgramExit.kind(of: error, signal: signal), error.message)
    default: self.init(.internalError, String(describing: error))
    }
  }

  private static func kind(of error: ImageError) -> Kind {
    switch error.code {
    case .missing: .inputMissing
    case .invalid, .unsupported: .badInput
    case .outOfMemory: .caseFailed
    }
  }

  private static func kind(of error: SchedulerError) -> Kind {
    switch error.code {
    case .invalidConfig, .unsupported: .badInput
    case .unknownName, .invalidArgument: .usage
    case .invalidCall: .internalError
    }
  }

  private static func kind(of error: BackendError, signal: Int32?) -> Kind {
    switch error.code {
    case .modelNotFound: .inputMissing
    case .invalidModel: .badInput
    case .invalidInput, .notSupported: .usage
    case .cancelled: signal == 15 ? .terminated : .interrupted
    case .outOfMemory, .processingFailed, .busy: .caseFailed
    case .unavailable: .backendUnavailable
    case .notLoaded: .internalError
    }
  }
}

/// A command that can't go on, with the exit code that says so.
struct CommandError: Error, Hashable, CustomStringConvertible {
  var kind: ProgramExit.Kind
  var message: String

  init(_ kind: ProgramExit.Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  var description: String { message }
}
