import Synchronization
public import Tensors

/// How many images somebody may make in a time; the system counts, apps needn't.
public final class PlaygroundUsage: Sendable {
  /// The most images in a time.
  public let limit: Int
  /// The time, in nanoseconds.
  public let windowNs: UInt64
  private let nowNs: @Sendable () -> UInt64
  private let made = Mutex<[UInt64]>([])

  /// Makes a meter.
  ///
  /// - Parameters:
  ///   - limit: The most images in the time.
  ///   - window: The time; a day unless told otherwise.
  ///   - clock: Nanoseconds of a clock that never goes back.
  public init(
    limit: Int, window: Duration = .seconds(86_400), clock: @escaping @Sendable () -> UInt64 = { MonotonicTime.nanoseconds() }
  ) {
    self.limit = max(0, limit)
    let (seconds, attoseconds) = window.components
    windowNs = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000
    nowNs = clock
  }

  /// Takes one image off; false when there's none left.
  func take() -> Bool {
    let now = nowNs()
    return made.withLock { made in
      made.removeAll { now - min($0, now) >= windowNs }
      guard made.count < limit else { return false }
      made.append(now)
      return true
    }
  }

  /// Gives one back that wasn't made after all.
  func giveBack() { made.withLock { if !$0.isEmpty { $0.removeLast() } } }
}
