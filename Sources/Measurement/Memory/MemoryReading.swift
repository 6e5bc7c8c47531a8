/// What a process holds in memory at one moment; nil is "not measured here", never 0.
public struct MemoryReading: Sendable, Hashable {
  /// Resident pages altogether.
  public var residentBytes: UInt64?
  /// Resident pages that belong to no file: heap, activations.
  public var anonymousBytes: UInt64?
  /// Resident pages of mapped files: weights, which can be dropped and read again.
  public var mappedBytes: UInt64?
  /// The largest resident size so far.
  public var peakResidentBytes: UInt64?

  /// Makes a reading.
  public init(
    residentBytes: UInt64? = nil, anonymousBytes: UInt64? = nil, mappedBytes: UInt64? = nil, peakResidentBytes: UInt64? = nil
  ) {
    self.residentBytes = residentBytes
    self.anonymousBytes = anonymousBytes
    self.mappedBytes = mappedBytes
    self.peakResidentBytes = peakResidentBytes
  }
}

extension MemoryReading {
  /// Reads the lines of `/proc/N/status`, which is cheap; `smaps_rollup` walks every page, which takes tens of milliseconds with
  /// gigabytes mapped.
  init(status: [String: String]) {
    var mapped = SystemRoot.bytes(kilobytes: status["RssFile"])
    if let file = mapped, let shared = SystemRoot.bytes(kilobytes: status["RssShmem"]) { mapped = file + shared }
    self.init(
      residentBytes: SystemRoot.bytes(kilobytes: status["VmRSS"]), anonymousBytes: SystemRoot.bytes(kilobytes: status["RssAnon"]),
      mappedBytes: mapped, peakResidentBytes: SystemRoot.bytes(kilobytes: status["VmHWM"]))
  }
}
