/// What went wrong, in a form that a client can switch on.
public struct BackendError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// No model of that id is loaded.
    case notLoaded = "not_loaded"
    /// The path or id leads to no model.
    case modelNotFound = "model_not_found"
    /// The model's files are damaged, incomplete or inconsistent.
    case invalidModel = "invalid_model"
    /// The request contradicts itself or the model.
    case invalidInput = "invalid_input"
    /// The model or backend can't do this.
    case notSupported = "not_supported"
    /// Another request is running.
    case busy
    /// The request was cancelled.
    case cancelled
    /// It doesn't fit into memory.
    case outOfMemory = "out_of_memory"
    /// It failed while running: numbers that aren't finite, a crash of the other process.
    case processingFailed = "processing_failed"
    /// The backend can't be reached.
    case unavailable
  }

  /// The kind of failure.
  public let code: Code
  /// A sentence: operation, expected, found, remedy.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}
