/// When a change counts.
public struct ComparisonPolicy: Sendable, Hashable, Codable {
  /// The least relative change that matters: 0.05 for 5 %.
  public var threshold: Double
  /// A change must also exceed this many times the spread between sessions.
  public var noiseFactor: Double
  /// The largest adjusted p value that counts.
  public var significance: Double
  /// Changes of less than so many nanoseconds never matter.
  public var leastNs: Double
  /// Changes of less than so many bytes never matter.
  public var leastBytes: Double
  /// Whether runs of different machines or builds may be compared.
  public var ignoresEnvironment: Bool

  private enum CodingKeys: String, CodingKey {
    case threshold, significance
    case noiseFactor = "noise_factor"
    case leastNs = "least_ns"
    case leastBytes = "least_bytes"
    case ignoresEnvironment = "ignores_environment"
  }

  /// The recommended policy: 5 %, twice the spread, p below 0.01, 20 µs, 1 MiB, one machine.
  public init(
    threshold: Double = 0.05, noiseFactor: Double = 2, significance: Double = 0.01, leastNs: Double = 20_000,
    leastBytes: Double = 1_048_576, ignoresEnvironment: Bool = false
  ) {
    self.threshold = threshold
    self.noiseFactor = noiseFactor
    self.significance = significance
    self.leastNs = leastNs
    self.leastBytes = leastBytes
    self.ignoresEnvironment = ignoresEnvironment
  }
}
