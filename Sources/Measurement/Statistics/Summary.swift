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
    /// How it was made: `bootstrap-median`, `bootstrap-session-medians`, or `order-statistics` for many samples.
    public var method: String

    /// Makes an interval.
    public init(level: Double, low: Double, high: Double, method: String) {
      self.level = level
      self.low = low
      self.high = high
      self.method = method
    }
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
  /// How many samples lie beyond Tukey's inner fences (1.5 interquartile ranges), the outer ones (3) not counted.
  public var outliersMild: Int
  /// How many lie beyond the outer fences.
  public var outliersSevere: Int

  private enum CodingKeys: String, CodingKey {
    case n, min, max, mean, median, stddev, mad, cv, ci, percentiles
    case outliersMild = "outliers_mild"
    case outliersSevere = "outliers_severe"
  }

  /// Reads a summary; outliers count as none in files that don't tell them.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    n = try container.decode(Int.self, forKey: .n)
    percentiles = try container.decode([String: Double].self, forKey: .percentiles)
    outliersMild = try container.decodeIfPresent(Int.self, forKey: .outliersMild) ?? 0
    outliersSevere = try container.decodeIfPresent(Int.self, forKey: .outliersSevere) ?? 0
    _min = try container.decode(NullEncoded<Double>.self, forKey: .min)
    _max = try container.decode(NullEncoded<Double>.self, forKey: .max)
    _mean = try container.decode(NullEncoded<Double>.self, forKey: .mean)
    _median = try container.decode(NullEncoded<Double>.self, forKey: .median)
    _stddev = try container.decode(NullEncoded<Double>.self, forKey: .stddev)
    _mad = try container.decode(NullEncoded<Double>.self, forKey: .mad)
    _cv = try container.decode(NullEncoded<Double>.self, forKey: .cv)
    _ci = try container.decode(NullEncoded<Interval>.self, forKey: .ci)
  }

  /// Sums up samples.
  ///
  /// - Parameters:
  ///   - values: All samples.
  ///   - sessionMedians: The median of each process. From 5 on the interval is made of them: samples of one process share
  ///     its luck, so that an interval of samples is too narrow.
  public init(_ values: [Double], sessionMedians: [Double] = []) {
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
    ci = Self.interval(values, sessionMedians: sessionMedians, level: 0.95)
    let outliers = Outliers(values)
    outliersMild = outliers.mild.count
    outliersSevere = outliers.severe.count
    percentiles = [:]
    for (name, fraction, needed) in [("50", 0.5, 1), ("90", 0.9, 20), ("99", 0.99, 200)] where values.count >= needed {
      percentiles[name] = Statistics.quantile(values, fraction)
    }
  }

  /// A confidence interval of the median, by whatever way fits the number of samples; nil with fewer than 5.
  static func interval(_ values: [Double], sessionMedians: [Double], level: Double) -> Interval? {
    func named(_ range: ClosedRange<Double>?, _ method: String) -> Interval? {
      range.map { Interval(level: level, low: $0.lowerBound, high: $0.upperBound, method: method) }
    }
    if sessionMedians.count >= 5 {
      return named(Statistics.medianInterval(sessionMedians, level: level), "bootstrap-session-medians")
    }
    if values.count > 1000 { return named(Statistics.orderStatisticInterval(values, level: level), "order-statistics") }
    return named(Statistics.medianInterval(values, level: level), "bootstrap-median")
  }
}
