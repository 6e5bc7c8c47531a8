public import Measurement

/// What became of one quantity of one case.
public enum Verdict: String, Sendable, Hashable, Codable, CaseIterable {
  /// Worse, beyond doubt.
  case regressed
  /// Better, beyond doubt.
  case improved
  /// No change that matters.
  case unchanged
  /// Perhaps changed; more sessions or a quieter machine would tell.
  case inconclusive
  /// The two sides can't be compared.
  case notComparable = "not_comparable"
  /// Only the base has it.
  case missing
  /// Only the candidate has it.
  case new
  /// The candidate's results are wrong: whatever its speed is, it isn't one.
  case invalid
  /// The candidate failed to run.
  case failed
}

/// The comparison of one quantity of one case.
public struct MetricVerdict: Sendable, Hashable, Codable {
  /// The case.
  public var caseID: String
  /// The quantity; nil for a verdict on the case as a whole.
  @NullEncoded public var metric: MetricName?
  /// Its unit.
  @NullEncoded public var unit: MetricUnit?
  /// The verdict.
  public var verdict: Verdict
  /// What decided, as a sentence.
  public var clause: String
  /// The median of the base's session medians.
  @NullEncoded public var base: Double?
  /// The median of the candidate's session medians.
  @NullEncoded public var candidate: Double?
  /// The candidate over the base, minus 1.
  @NullEncoded public var change: Double?
  /// What the change had to exceed.
  @NullEncoded public var limit: Double?
  /// The relative spread between sessions that the limit comes from.
  @NullEncoded public var noise: Double?
  /// The smallest true change that this comparison would find 19 times in 20.
  @NullEncoded public var detectable: Double?
  /// The probability of such a difference by chance.
  @NullEncoded public var pValue: Double?
  /// The same, with all comparisons considered.
  @NullEncoded public var adjustedPValue: Double?
  /// Sessions of the base and of the candidate.
  public var sessions: [Int]

  private enum CodingKeys: String, CodingKey {
    case metric, unit, verdict, clause, base, candidate, change, limit, noise, detectable, sessions
    case caseID = "case_id"
    case pValue = "p_value"
    case adjustedPValue = "p_adjusted"
  }

  /// Makes a verdict on a whole case.
  init(caseID: String, metric: MetricName? = nil, verdict: Verdict, clause: String) {
    self.caseID = caseID
    self.verdict = verdict
    self.clause = clause
    sessions = []
    self.metric = metric
  }
}

/// One quantity on both sides, as far as it can be judged on its own.
struct MetricPair {
  let base: RunCase.Metric
  let candidate: RunCase.Metric
  let policy: ComparisonPolicy
  var row: MetricVerdict
  /// The permutation test, where both sides have enough sessions.
  private(set) var test: MannWhitney?

  /// Sessions from which on the test decides; below, confidence intervals do.
  static let testSessions = 5

  init(
    caseID: String, base: RunCase.Metric, candidate: RunCase.Metric, ledgerNoise: Double?, policy: ComparisonPolicy
  ) {
    self.base = base
    self.candidate = candidate
    self.policy = policy
    row = MetricVerdict(caseID: caseID, metric: base.name, verdict: .unchanged, clause: "")
    row.unit = base.unit
    let (before, after) = (base.sessionMedians, candidate.sessionMedians)
    row.sessions = [before.count, after.count]
    row.base = Statistics.median(before)
    row.candidate = Statistics.median(after)
    if let old = row.base, let new = row.candidate, old > 0 { row.change = new / old - 1 }
    let own = before.count + after.count >= 6 ? NoiseFloor.relativeSpread([before, after]) : nil
    row.noise = [own, ledgerNoise].compactMap { $0 }.max()
    if let noise = row.noise {
      let limit = max(policy.threshold, policy.noiseFactor * noise)
      row.limit = limit
      row.detectable = NoiseFloor.detectableChange(limit: limit, spread: noise, sessions: before.count, after.count)
    }
    if min(before.count, after.count) >= Self.testSessions {
      test = MannWhitney(before, after)
      row.pValue = test?.pValue
    }
  }

  /// Whether a larger value is the worse one.
  private var isWorseUp: Bool { base.polarity != .higher }

  private var leastDifference: Double {
    switch base.unit {
    case .nanoseconds: policy.leastNs
    case .bytes: policy.leastBytes
    case .perSecond: 0
    }
  }

  /// Judges the pair, now that the p value is adjusted for all `count` comparisons.
  mutating func judge(adjusted: Double?, among count: Int) {
    row.adjustedPValue = adjusted
    guard let old = row.base, let new = row.candidate, let change = row.change else {
      set(.notComparable, "the base's median isn't positive, so that there is no relative change")
      return
    }
    let percent = Self.percent(change)
    guard abs(new - old) >= leastDifference else {
      set(.unchanged, "\(percent) is less than \(base.unit.text(leastDifference)), which never matters")
      return
    }
    let direction: Verdict = (change > 0) == isWorseUp ? .regressed : .improved
    guard let limit = row.limit, let noise = row.noise else {
      judgeWithoutNoise(change: change)
      return
    }
    let noiseText = "spread between sessions \(Self.percent(noise, signed: false))"
    guard abs(change) > limit else {
      set(.unchanged, "\(percent) is within \(Self.percent(limit, signed: false)) (\(noiseText))")
      return
    }
    if let adjusted {
      if adjusted < policy.significance {
        set(
          direction,
          "\(percent) is beyond \(Self.percent(limit, signed: false)), p \(Self.small(adjusted)) over \(count) comparisons")
      } else {
        let least = MannWhitney.smallestPValue(row.sessions[0], row.sessions[1])
        let hint =
          least * Double(count) >= policy.significance
          ? "; so few sessions can't tell among \(count) comparisons, measure \(Self.sessionsNeeded(policy.significance, count))"
          : ""
        set(.inconclusive, "\(percent) is beyond \(Self.percent(limit, signed: false)), but p \(Self.small(adjusted))\(hint)")
      }
      return
    }
    // Too few sessions for the test: the intervals of the samples must be apart, and the noise is the ledger's.
    let (before, after) = (interval(base), interval(candidate))
    guard let before, let after else {
      set(.inconclusive, "\(percent), with fewer than 5 samples on a side; measure more sessions")
      return
    }
    if before.overlaps(after) {
      set(.inconclusive, "\(percent) is beyond \(Self.percent(limit, signed: false)), but the 95 % intervals overlap")
    } else {
      set(
        direction,
        "\(percent) is beyond \(Self.percent(limit, signed: false)) and the 95 % intervals are apart (fewer than 5 sessions)")
    }
  }

  private mutating func judgeWithoutNoise(change: Double) {
    let percent = Self.percent(change)
    if abs(change) <= policy.threshold {
      set(.unchanged, "\(percent) is within \(Self.percent(policy.threshold, signed: false))")
    } else {
      set(
        .inconclusive,
        "\(percent), and how much sessions differ isn't known: measure 5 sessions or more, or run 'genbench calibrate'")
    }
  }

  private func interval(_ metric: RunCase.Metric) -> ClosedRange<Double>? {
    metric.summary.ci.flatMap { $0.low <= $0.high ? $0.low...$0.high : nil }
  }

  private mutating func set(_ verdict: Verdict, _ clause: String) {
    row.verdict = verdict
    row.clause = clause
  }

  /// Sessions a side with which the test can give a p value below the limit among so many comparisons.
  static func sessionsNeeded(_ significance: Double, _ count: Int) -> Int {
    var sessions = testSessions
    while sessions < 40, MannWhitney.smallestPValue(sessions, sessions) * Double(count) >= significance { sessions += 1 }
    return sessions
  }

  /// `+12.3 %`, `0.42 %`.
  static func percent(_ fraction: Double, signed: Bool = true) -> String {
    let text = Units.significant(abs(fraction * 100), digits: 3)
    let sign = signed ? (fraction < 0 ? "-" : "+") : ""
    return "\(sign)\(text) %"
  }

  static func small(_ p: Double) -> String { p < 0.0001 ? "< 0.0001" : "= " + Units.significant(p, digits: 2) }
}
