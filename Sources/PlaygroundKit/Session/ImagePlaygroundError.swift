public import Foundation

/// What an app or a person is told when something can't be done.
public struct ImagePlaygroundError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// Images can't be made here; show the fallback.
    case unavailable
    /// The allowed styles are none, or the default isn't among them.
    case invalidStyles
    /// A style that isn't offered.
    case styleNotOffered
    /// There's nothing to accept, or the session is over.
    case invalidState
    /// People can't be included where personalization is off.
    case personalizationDisabled
    /// The image couldn't be made or written.
    case creationFailed
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

  /// The message, for `localizedDescription`.
  public var errorDescription: String? { message }
  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}
