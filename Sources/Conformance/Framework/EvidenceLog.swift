import Synchronization

/// What happened during a check, in order; shown when it fails.
public final class EvidenceLog: Sendable {
  private let entries = Mutex<[String]>([])
  private static let limit = 200

  /// Makes an empty log.
  public init() {}

  /// Adds a line.
  public func note(_ text: String) {
    entries.withLock { entries in
      if entries.count < Self.limit { entries.append(text) }
      if entries.count == Self.limit { entries.append("…") }
    }
  }

  /// The lines so far.
  public var lines: [String] { entries.withLock { $0 } }
}
