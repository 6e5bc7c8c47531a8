/// One turn of a conversation.
public struct ChatMessage: Sendable, Hashable {
  /// Who speaks.
  public enum Role: String, Sendable, CaseIterable {
    case system
    case user
    case assistant
  }

  /// A part of what is said.
  public enum Part: Sendable, Hashable {
    case text(String)
    case image
  }

  /// Who speaks.
  public var role: Role
  /// What is said, in order.
  public var parts: [Part]

  /// Makes a turn.
  public init(_ role: Role, _ parts: [Part]) {
    self.role = role
    self.parts = parts
  }

  /// Makes a turn of text.
  public init(_ role: Role, _ text: String) { self.init(role, [.text(text)]) }
}
