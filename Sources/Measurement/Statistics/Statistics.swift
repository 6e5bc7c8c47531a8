/// Medians, spreads and quantiles of samples; nil where the samples are too few to say.
public enum Statistics {
  /// The middle value, or the mean of the two middle ones; nil without samples.
  public static func median(_ values: [Double]) -> Double? { quantile(values, 0.5) }

  /// The quantile at `fraction` in 0...1, linear between order statistics.
  ///
  /// Type 7 of Hyndman & Fan 1996, NumPy's default; nil without samples.
  public static func quantile(_ values: [Double], _ fraction: Double) -> Double? {
    guard !values.isEmpty, fraction >= 0, fraction <= 1 else { return nil }
    return sortedQuantile(values.sorted(), fraction)
  }

  static func sortedQuantile(_ sorted: [Double], _ fraction: Double) -> Double {
    let place = Double(sorted.count - 1) * fraction
    let low = Int(place)
    let high = min(low + 1, sorted.count - 1)
    return sorted[low] + (sorted[high] - sorted[low]) * (place - Double(low))
  }

  /// The median distance from the median, not scaled; nil without samples.
  public static func medianAbsoluteDeviation(_ values: [Double]) -> Double? {
    guard let center = median(values) else { return nil }
    return median(values.map { abs($0 - center) })
  }

  /// The mean; nil without samples.
  public static func mean(_ values: [Double]) -> Double? {
    values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
  }

  /// The standard deviation with n - 1 below; nil with fewer than two samples.
  public static func standardDeviation(_ values: [Double]) -> Double? {
    guard values.count >= 2, let mean = mean(values) else { return nil }
    return (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count - 1)).squareRoot()
  }

  /// A bootstrap confidence interval of the median (percentile method, Efron 1979); nil with fewer than 5 samples.
  ///
  /// - Parameters:
  ///   - values: Independent samples.
  ///   - level: The confidence, 0.95 for 95 %.
  ///   - resamples: How often the samples are drawn anew.
  ///   - seed: Of the draws: the same samples give the same interval.
  public static func medianInterval(_ values: [Double], level: Double = 0.95, resamples: Int = 2000, seed: UInt64 = 1)
    -> ClosedRange<Double>?
  {
    guard values.count >= 5, level > 0, level < 1, resamples >= 1 else { return nil }
    var random = SplitMix64(seed: seed)
    let sorted = values.sorted()
    var counts = [Int](repeating: 0, count: sorted.count)
    var medians: [Double] = []
    medians.reserveCapacity(resamples)
    for _ in 0..<resamples {
      // Counting how often each order statistic was drawn gives the median without sorting again.
      for index in counts.indices { counts[index] = 0 }
      for _ in sorted { counts[Int(random.next() % UInt64(sorted.count))] += 1 }
      medians.append((element(sorted, counts, (sorted.count - 1) / 2) + element(sorted, counts, sorted.count / 2)) / 2)
    }
    medians.sort()
    let tail = (1 - level) / 2
    return sortedQuantile(medians, tail)...sortedQuantile(medians, 1 - tail)
  }

  /// A confidence interval of the median from two order statistics, for many samples; nil with fewer than 20.
  ///
  /// Their places come from the normal approximation of the binomial distribution (Conover 1999, section 3.2).
  public static func orderStatisticInterval(_ values: [Double], level: Double = 0.95) -> ClosedRange<Double>? {
    guard values.count >= 20, level > 0, level < 1 else { return nil }
    let sorted = values.sorted()
    let count = Double(sorted.count)
    let reach = NormalDistribution.quantile(0.5 + level / 2) * count.squareRoot() / 2
    let low = max(0, Int((count / 2 - reach).rounded(.down)) - 1)
    let high = min(sorted.count - 1, Int((count / 2 + reach).rounded(.up)))
    return sorted[low]...sorted[high]
  }

  /// The element at `rank` of a resample that holds `counts[i]` copies of `sorted[i]`.
  private static func element(_ sorted: [Double], _ counts: [Int], _ rank: Int) -> Double {
    var seen = 0
    for index in sorted.indices {
      seen += counts[index]
      if seen > rank { return sorted[index] }
    }
    return sorted[sorted.count - 1]
  }
}

/// A small seeded generator with the same numbers on every platform.
///
/// SplitMix64 of Steele, Lea & Flood 2014.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Makes a generator.
  public init(seed: UInt64) { state = seed }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
