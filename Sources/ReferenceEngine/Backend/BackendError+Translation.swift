import Checkpoints
import GenBackend
import Kernels
import Schedulers
import Tensors
import Tokenizers
import VisionLanguageModels

extension BackendError {
  /// The error of this boundary for one from inside the engine.
  init(translating error: any Error) {
    switch error {
    case let error as BackendError: self = error
    case is CancelledError, is CancellationError: self.init(.cancelled, "the request was cancelled")
    case let error as CheckpointError:
      switch error.code {
      case .missing: self.init(.modelNotFound, error.description)
      case .invalid, .unsupported: self.init(.invalidModel, error.description)
      case .unwritable: self.init(.processingFailed, error.description)
      }
    case let error as TokenizerError: self.init(.invalidModel, error.description)
    case let error as VisionLanguageError: self.init(.invalidInput, error.description)
    case let error as SchedulerError:
      self.init(error.code == .invalidConfig ? .invalidModel : .invalidInput, error.description)
    case let error as KernelSelectionError: self.init(.notSupported, error.description)
    default: self.init(.processingFailed, "\(error)")
    }
  }
}
