/// Samples that lie far from the others: told, never removed.
public struct Outliers: Sendable, Hashable, Codable {
  /// Positions beyond 1.5, but not 3, interquartile ranges from the quartiles.
  public var mild: [Int]
  /// Positions beyond 3 interquartile ranges.
  public var severe: [Int]

  /// Finds them; none with fewer than 5 samples.
  ///
  /// The fences of Tukey 1977.
  public init(_ values: [Double]) {
    mild = []
    severe = []
    guard values.count >= 5, let low = Statistics.quantile(values, 0.25), let high = Statistics.quantile(values, 0.75) else {
      return
    }
    let range = high - low
    for (index, value) in values.enumerated() {
      let distance = max(low - value, value - high)
      if distance > 3 * range { severe.append(index) } else if distance > 1.5 * range { mild.append(index) }
    }
  }

  /// Whether the first sample is one and no other is: a missing warm-up rather than noise.
  public var isFirstAlone: Bool { mild + severe == [0] }
}
