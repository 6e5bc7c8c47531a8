/// How much sessions of one and the same thing differ.
public enum NoiseFloor {
  /// The standard deviation between sessions, relative to their median, pooled over groups that may differ in level.
  ///
  /// Sessions beyond Tukey's outer fences (3 interquartile ranges) don't count here: one that was stopped for half a minute says
  /// nothing about the others, and a test on ranks doesn't mind it.
  ///
  /// - Parameter groups: Session medians; each group is one configuration at one time.
  /// - Returns: A fraction, 0.03 for 3 %; nil with fewer than two degrees of freedom, or where a median isn't positive.
  public static func relativeSpread(_ groups: [[Double]]) -> Double? {
    var squares = 0.0
    var freedom = 0
    for whole in groups where whole.count >= 2 {
      let outliers = Set(Outliers(whole).severe)
      let group = whole.enumerated().filter { !outliers.contains($0.offset) }.map(\.element)
      guard let median = Statistics.median(group), median > 0, let mean = Statistics.mean(group) else { return nil }
      squares += group.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (median * median)
      freedom += group.count - 1
    }
    return freedom >= 2 ? (squares / Double(freedom)).squareRoot() : nil
  }

  /// The smallest true change that is found 19 times in 20.
  ///
  /// A change must exceed `limit`; medians of `n` and `m` sessions with the given spread differ by chance with a standard
  /// deviation of `sqrt(π/2) · spread · sqrt(1/n + 1/m)`.
  ///
  /// - Returns: A fraction; nil where no number of sessions is known.
  public static func detectableChange(limit: Double, spread: Double, sessions n: Int, _ m: Int) -> Double? {
    guard n > 0, m > 0 else { return nil }
    let deviation = (Double.pi / 2).squareRoot() * spread * (1 / Double(n) + 1 / Double(m)).squareRoot()
    return limit + NormalDistribution.quantile(0.95) * deviation
  }
}
