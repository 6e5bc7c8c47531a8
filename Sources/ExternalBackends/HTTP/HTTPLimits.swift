/// How long a server may take, and how much it may send.
public struct HTTPLimits: Sendable, Hashable {
  /// Until it's reached.
  public var connectNs: UInt64
  /// Without a byte while an answer is awaited.
  public var silenceNs: UInt64
  /// From a request to the end of its answer.
  public var timeoutNs: UInt64
  /// Bytes of an answer.
  public var longestBody: Int

  /// Makes limits; those left out suit servers that say nothing during a long image.
  public init(
    connectNs: UInt64 = 10_000_000_000, silenceNs: UInt64 = 600_000_000_000, timeoutNs: UInt64 = 3_600_000_000_000,
    longestBody: Int = 512 << 20
  ) {
    self.connectNs = connectNs
    self.silenceNs = silenceNs
    self.timeoutNs = timeoutNs
    self.longestBody = longestBody
  }
}
