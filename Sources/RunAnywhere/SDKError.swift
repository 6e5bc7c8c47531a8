public import Foundation
import GenBackend
import ModelRegistry
import Tensors

/// What went wrong in a call of the SDK; switch on ``code``, show ``message``.
public struct SDKError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure; stable, so that no app ever needs to look into a message.
  public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// No model is loaded, or the SDK has no engine.
    case notInitialized
    /// The model's files aren't there.
    case modelNotFound
    /// The model's files are damaged or incomplete; the message names the part.
    case modelLoadFailed
    /// An option is out of its range or contradicts another one.
    case invalidInput
    /// The loaded model or the engine can't do this.
    case notSupported
    /// Another call is at work on the same engine.
    case busy
    /// The handler returned false, the task was cancelled, or a cancel function was called.
    case cancelled
    /// It doesn't fit into memory.
    case outOfMemory
    /// It failed while running.
    case processingFailed
    /// The engine can't be reached.
    case serviceNotAvailable
    /// An image can't be decoded, or its size and its bytes contradict each other.
    case invalidImage
    /// The server couldn't be reached, or the connection broke too often.
    case downloadFailed
    /// The server answered with a status that means no.
    case httpError
    /// What arrived isn't what was registered.
    case checksumMismatch
    /// The disk has no room for it.
    case insufficientStorage
    /// An archive is damaged, hostile, or of a kind that isn't unpacked.
    case extractionFailed
    /// The files of models can't be read or written.
    case storageFailed
  }

  /// Groups of codes, by what an app does about them.
  public enum Category: String, Sendable, Hashable, Codable, CaseIterable {
    /// Load or download something first.
    case initialization
    /// Change the request.
    case input
    /// Free something, or try again later.
    case resource
    /// Nothing: somebody wanted it so.
    case cancellation
    /// Report it.
    case processing
  }

  /// The kind of failure.
  public let code: Code
  /// A sentence for people: what was expected, what was found, what to do.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The group of the code.
  public var category: Category {
    switch code {
    case .notInitialized, .modelNotFound, .modelLoadFailed: .initialization
    case .invalidInput, .notSupported, .invalidImage: .input
    case .busy, .outOfMemory, .serviceNotAvailable, .downloadFailed, .httpError, .insufficientStorage, .storageFailed: .resource
    case .cancelled: .cancellation
    case .processingFailed, .checksumMismatch, .extractionFailed: .processing
    }
  }

  /// The message, for `localizedDescription`.
  public var errorDescription: String? { message }
  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}

extension SDKError {
  /// The error of this surface for one of an engine.
  init(translating error: any Error) {
    switch error {
    case let error as SDKError: self = error
    case is CancellationError, is CancelledError: self.init(.cancelled, "the request was cancelled")
    case let error as RegistryError:
      let code: Code =
        switch error.code {
        case .modelNotFound: .modelNotFound
        case .invalidInput: .invalidInput
        case .networkFailed: .downloadFailed
        case .httpError: .httpError
        case .invalidContent, .checksumMismatch: .checksumMismatch
        case .insufficientStorage: .insufficientStorage
        case .extractionFailed, .unsupportedArchive: .extractionFailed
        case .notSupported: .notSupported
        case .cancelled: .cancelled
        case .inUse: .busy
        case .storageFailed: .storageFailed
        }
      self.init(code, error.message)
    case let error as BackendError:
      let code: Code =
        switch error.code {
        case .notLoaded: .notInitialized
        case .modelNotFound: .modelNotFound
        case .invalidModel: .modelLoadFailed
        case .invalidInput: .invalidInput
        case .notSupported: .notSupported
        case .busy: .busy
        case .cancelled: .cancelled
        case .outOfMemory: .outOfMemory
        case .processingFailed: .processingFailed
        case .unavailable: .serviceNotAvailable
        }
      self.init(code, error.message)
    default: self.init(.processingFailed, "\(error)")
    }
  }
}
