/// What is done with a subject.
public enum Scenario: String, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
  /// One request after the other.
  case single
  /// Requests of several images.
  case offline
  /// One request after a load from the disk, in a process of its own.
  case cold
  /// Loads alone, of files that are in memory.
  case warm
  /// Requests for minutes, in a process of their own.
  case sustained
  /// Requests that are cancelled.
  case cancel

  /// The name in files and on command lines.
  public var description: String { rawValue }
  /// Whether it needs a process of its own.
  public var needsOwnProcess: Bool { self == .cold || self == .sustained }

  static let all = Set(allCases)
  /// Those in which requests run to their end.
  static let withRequests = all.subtracting([.warm, .cancel])
}

/// What the results of a configuration are judged by.
public enum Gate: String, Sendable, Hashable, Codable, CaseIterable {
  /// Goldens where there are some.
  case auto
  /// Goldens.
  case golden
  /// The same engine with plain loops.
  case reference
  /// Nothing.
  case off
}
