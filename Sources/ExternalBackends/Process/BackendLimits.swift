/// How long an engine in another process may take.
public struct BackendLimits: Sendable, Hashable {
  /// From a request to its reply.
  public var timeoutNs: UInt64
  /// Without any line while a request runs.
  public var silenceNs: UInt64
  /// From a cancellation to the end of the request.
  public var cancelNs: UInt64
  /// From the start of the program to its greeting.
  public var helloNs: UInt64
  /// From the request to end, or SIGTERM, to SIGKILL.
  public var terminationNs: UInt64

  /// Makes limits; those left out suit engines that load gigabytes and say nothing during a long image.
  public init(
    timeoutNs: UInt64 = 3_600_000_000_000, silenceNs: UInt64 = 600_000_000_000, cancelNs: UInt64 = 30_000_000_000,
    helloNs: UInt64 = 300_000_000_000, terminationNs: UInt64 = 5_000_000_000
  ) {
    self.timeoutNs = timeoutNs
    self.silenceNs = silenceNs
    self.cancelNs = cancelNs
    self.helloNs = helloNs
    self.terminationNs = terminationNs
  }
}
