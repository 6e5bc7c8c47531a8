/// Reads how much memory an engine holds.
public struct MemoryMeter: Sendable {
  /// Starts a new peak.
  public var reset: @Sendable () -> Void
  /// The most that was held since then, in bytes.
  public var peakBytes: @Sendable () -> Int
  /// What is held now, in bytes.
  public var liveBytes: @Sendable () -> Int

  /// Makes a meter.
  public init(
    reset: @escaping @Sendable () -> Void, peakBytes: @escaping @Sendable () -> Int, liveBytes: @escaping @Sendable () -> Int
  ) {
    self.reset = reset
    self.peakBytes = peakBytes
    self.liveBytes = liveBytes
  }
}
