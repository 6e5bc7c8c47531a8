public import Foundation

/// What went wrong, with a code to switch on.
public struct TSAIError: LocalizedError, CustomNSError, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure; their numbers are stable.
  public enum Code: Int, Sendable, Hashable, Codable, CaseIterable {
    /// A prompt, count, size, style or language that can't be used.
    case invalidParameter = 1001
    /// The context or its provider makes no images.
    case notSupported = 1002
    /// The context isn't the active one.
    case contextInactive = 1003
    /// No provider is set, or it has no model.
    case providerUnavailable = 1004
    /// The connection to the device that the provider needs is missing.
    case bridgeUnavailable = 1005
    /// Another context or provider has taken the place of the one that was asked.
    case activationSuperseded = 1006
    /// The provider is at work on something else.
    case busy = 1007
    /// The task was cancelled.
    case cancelled = 1008
    /// Somebody has to sign in first.
    case authorizationRequired = 1009
    /// The provider failed at the task.
    case taskFailed = 1010
    /// The provider won't make this picture.
    case contentRejected = 1011
    /// The provider took too long.
    case timeout = 1012
    /// There's no network.
    case networkUnavailable = 1013
    /// The provider answered with something that can't be used.
    case invalidResponse = 1014
  }

  /// The kind of failure.
  public let code: Code
  /// A sentence for people.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The domain of the `NSError`.
  public static let errorDomain = "TSAIErrorDomain"
  /// The code of the `NSError`.
  public var errorCode: Int { code.rawValue }
  /// The message, for the `localizedDescription` of the `NSError`.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }
  /// The message, for `localizedDescription`.
  public var errorDescription: String? { message }
  /// The code and the message.
  public var description: String { "\(code) (\(code.rawValue)): \(message)" }
}

extension TSAIError {
  /// The error for one that a provider threw.
  init(ofProvider error: any Error) {
    switch error {
    case let error as TSAIError: self = error
    case is CancellationError: self.init(.cancelled, "the provider was cancelled")
    default:
      let system = error as NSError
      let code: Code =
        switch (system.domain, system.code) {
        case (NSURLErrorDomain, NSURLErrorTimedOut): .timeout
        case (NSURLErrorDomain, NSURLErrorCancelled): .cancelled
        case (NSURLErrorDomain, NSURLErrorUserAuthenticationRequired): .authorizationRequired
        case (NSURLErrorDomain, NSURLErrorBadServerResponse), (NSURLErrorDomain, NSURLErrorCannotParseResponse): .invalidResponse
        case (NSURLErrorDomain, _): .networkUnavailable
        default: .taskFailed
        }
      self.init(code, "\(error)")
    }
  }
}
