public import GenBackend

/// When the tokens of one answer came.
public struct TokenTimes: Sendable, Hashable {
  /// From the request to the first token; nil without tokens.
  public var firstNs: UInt64?
  /// From each token to the next one.
  public var gapsNs: [UInt64]

  /// Reads them off the events of a request that began at `startNs`.
  public init(events: [GenerationEvent], startNs: UInt64) {
    let times = events.compactMap { event -> UInt64? in
      guard case .token(_, _, let timeNs) = event else { return nil }
      return timeNs
    }
    firstNs = times.first.map { $0 - min(startNs, $0) }
    gapsNs = zip(times.dropFirst(), times).map { $0 - min($1, $0) }
  }
}
