import Checkpoints
import GenBackend
import Imaging
import InputFiles
import ModelRegistry
package import Reporting
public import Running
import Schedulers
import Tokenizers

/// How the program ends.
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
  public typealias Kind = ExitCode

  /// Takes how a run ended.
  package init(_ exit: RunDocument.Exit) {
    code = exit.code
    reason = exit.reason
  }

  /// The status for an error that ended a command.
  ///
  /// - Parameter signal: The signal that cancelled the work, if one did.
  public init(_ error: any Error, signal: Int32? = nil) {
    switch error {
    case let error as UsageError: self.init(.usage, error.message)
    case let error as SettingError: self.init(.usage, error.message)
    case let error as CommandError: self.init(error.kind, error.message)
    case let error as InputFileError:
      switch error.code {
      case .missing: self.init(.inputMissing, error.description)
      case .invalid: self.init(.badInput, error.description)
      case .cancelled: self.init(signal == 15 ? .terminated : .interrupted, error.description)
      }
    case let error as CheckpointError:
      let kind: Kind =
        switch error.code {
        // A reader that waits for a stream gives up at a signal.
        case .missing: signal == nil ? .inputMissing : signal == 15 ? .terminated : .interrupted
        case .invalid, .unsupported: .badInput
        case .unwritable: .cannotWrite
        }
      self.init(kind, error.description)
    case let error as ImageError:
      let missing: Kind = signal == nil ? .inputMissing : signal == 15 ? .terminated : .interrupted
      self.init(error.code == .missing ? missing : .badInput, error.description)
    case let error as TokenizerError: self.init(error.code == .missing ? .inputMissing : .badInput, error.description)
    case let error as SchedulerError: self.init(ProgramExit.kind(of: error), error.description)
    case let error as RegistryError: self.init(ProgramExit.kind(of: error, signal: signal), error.message)
    case let error as BackendError: self.init(ProgramExit.kind(of: error, signal: signal), error.message)
    default: self.init(.internalError, String(describing: error))
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
