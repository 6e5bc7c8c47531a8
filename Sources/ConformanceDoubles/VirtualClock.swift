import Synchronization

/// A clock that moves only when somebody moves it.
public final class VirtualClock: Sendable {
  private let time = Atomic<UInt64>(1_000_000_000)

  /// Makes a clock that shows one second.
  public init() {}

  /// Nanoseconds.
  public var nowNs: UInt64 { time.load(ordering: .acquiring) }

  /// Moves the clock on.
  public func advance(byNs nanoseconds: UInt64) { time.add(nanoseconds, ordering: .acquiringAndReleasing) }
}
