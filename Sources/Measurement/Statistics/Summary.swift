/// Samples of one quantity in a few numbers; nil is "too few samples to say".
public struct Summary: Sendable, Hashable, Codable {
  /// A range that holds the true value with some confidence.
  public struct Interval: Sendable, Hashable, Codable {
    /// The confidence: 0.95.
    public var level: Double
    /// The lower end.
    public var low: Double
    /// The upper end.
    public var high: Double
    /// How it was made: `bootstrap-median`.
    public var method: String
  }

  /// How many samples.
  public var n: Int
  /// The smallest.
  @NullEncoded public var min: Double?
  /// The largest.
  @NullEncoded public var max: Double?
  /// The mean.
  @NullEncoded public var mean: Double?
  /// The median.
  @NullEncoded public var median: Double?
  /// The standard deviation with n - 1 below; needs 2 samples.
  @NullEncoded public var stddev: Double?
  /// The median absolute deviation from the median, not scaled.
  @NullEncoded public var mad: Double?
  /// The standard deviation over the mean; needs 2 samples.
  @NullEncoded public var cv: Double?
  /// The confidence interval of the median; needs 5 samples.
  @NullEncoded public var ci: Interval?
  /// Quantiles by percent.
  ///
  /// `90` is there with at least 20 samples, `99` with at least 200: fewer say nothing about such a tail.
  public var percentiles: [String: Double]

  /// Sums up samples.
  public init(_ values: [Double]) {
    n = values.count
    min = values.min()
    max = values.max()
    let average = Statistics.mean(values)
    let deviation = Statistics.standardDeviation(values)
    mean = average
    median = Statistics.median(values)
    stddev = deviation
    mad = Statistics.medianAbsoluteDeviation(values)
    cv = if let deviation, let average, average != 0 { deviation / average } else { nil }
    ci = Statistics.medianInterval(values).map {
      Interval(level: 0.95, low: $0.lowerBound, high: $0.upperBound, method: "bootstrap-median")
    }
    percentiles = [:]
    for (name, fraction, needed) in [("50", 0.5, 1), ("90", 0.9, 20), ("99", 0.99, 200)] where values.count >= needed {
      percentiles[name] = Statistics.quantile(values, fraction)
    }
  }
}
