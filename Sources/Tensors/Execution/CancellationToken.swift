import Synchronization

/// Says that a running generation should stop; looked at inside the networks, between blocks.
public final class CancellationToken: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Makes a token that isn't cancelled.
  public init() {}

  /// Asks for the stop; safe from any thread, any number of times.
  public func cancel() { flag.store(true, ordering: .releasing) }

  /// Whether ``cancel()`` was called.
  public var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// Throws ``CancelledError`` when ``cancel()`` was called.
  public func check() throws(CancelledError) {
    if isCancelled { throw CancelledError() }
  }
}

/// Thrown out of a network or a pipeline whose token was cancelled.
public struct CancelledError: Error, Sendable, Equatable {
  /// Makes the error.
  public init() {}
}
