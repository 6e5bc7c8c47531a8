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
