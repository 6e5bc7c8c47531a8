import Foundation
public import Measurement

/// Two runs, quantity by quantity: schema `genbench.comparison/1`.
public struct RunComparison: Sendable, Hashable, Codable {
  /// The schema that is written.
  public static let schemaName = "genbench.comparison/1"

  /// One of the two runs.
  public struct Side: Sendable, Hashable, Codable {
    /// How it was named on the command line.
    public var name: String
    /// Its id.
    public var runID: String
    /// When it began.
    public var createdAt: String
    /// The commit that was measured.
    @NullEncoded public var commit: String?
    /// Faults that were put in on purpose.
    public var faults: [String]

    private enum CodingKeys: String, CodingKey {
      case name, commit, faults
      case runID = "run_id"
      case createdAt = "created_at"
    }

    init(_ run: RunDocument, name: String) {
      self.name = name
      runID = run.runID
      createdAt = run.createdAt
      faults = run.faults
      commit = run.tool.commit
    }
  }

  /// `genbench.comparison/1`.
  public var schema: String
  /// What is compared with.
  public var base: Side
  /// What is judged.
  public var candidate: Side
  /// When a change counts.
  public var policy: ComparisonPolicy
  /// What differs around the two.
  public var environment: [EnvironmentDifference]
  /// The verdicts, in the order of the candidate's cases; cases that only the base has come last.
  public var rows: [MetricVerdict]
  /// Changes of quantities without a verdict, as told in the runs.
  public var informative: [MetricVerdict]

  /// Compares two runs.
  ///
  /// The rule, in the order in which it decides: a candidate that failed or whose results are wrong isn't compared; two machines
  /// or builds aren't compared; the change of the medians of session medians must exceed `max(threshold, 2 · spread between
  /// sessions)`; an exact Mann-Whitney test of the session medians, adjusted over all comparisons (Benjamini & Hochberg), must be
  /// significant. With fewer than 5 sessions a side, the spread must be known from a calibration and the intervals apart.
  ///
  /// - Parameters:
  ///   - base: What is compared with, and what it's called.
  ///   - candidate: What is judged, and what it's called.
  ///   - policy: When a change counts.
  ///   - ledger: The noise of this machine as calibrated.
  public init(
    base: (run: RunDocument, name: String), candidate: (run: RunDocument, name: String),
    policy: ComparisonPolicy = ComparisonPolicy(), ledger: NoiseLedger? = nil
  ) {
    schema = Self.schemaName
    self.base = Side(base.run, name: base.name)
    self.candidate = Side(candidate.run, name: candidate.name)
    self.policy = policy
    environment = EnvironmentDifference.between(base.run, candidate.run)
    let obstacle = policy.ignoresEnvironment ? nil : environment.first(where: \.isDecisive)
    let ledger = ledger.flatMap { $0.machineID == candidate.run.environment.machineID ? $0 : nil }
    var whole: [Int: MetricVerdict] = [:]
    var pairs: [(place: Int, pair: MetricPair)] = []
    var extra: [MetricVerdict] = []
    let old = Dictionary(base.run.cases.map { ($0.caseID, $0) }, uniquingKeysWith: { first, _ in first })
    var place = 0
    for new in candidate.run.cases {
      if let verdict = Self.verdictOnCase(old[new.caseID], new, obstacle) {
        whole[place] = verdict
        place += 1
        continue
      }
      guard let before = old[new.caseID] else { continue }
      for metric in new.metrics where metric.polarity != .none {
        guard let first = before.metric(metric.name), !first.sessionMedians.isEmpty, !metric.sessionMedians.isEmpty else {
          continue
        }
        var pair = MetricPair(
          caseID: new.caseID, base: first, candidate: metric, ledgerNoise: ledger?.spread(of: metric.name, in: new.caseID),
          policy: policy)
        if metric.name.isJudged {
          pairs.append((place, pair))
          place += 1
        } else {
          pair.judge(adjusted: pair.row.pValue, among: 1)
          extra.append(pair.row)
        }
      }
    }
    let tested = pairs.indices.filter { pairs[$0].pair.row.pValue != nil }
    let adjusted = FalseDiscovery.adjusted(tested.compactMap { pairs[$0].pair.row.pValue })
    let byPair = Dictionary(uniqueKeysWithValues: zip(tested, adjusted))
    for index in pairs.indices {
      pairs[index].pair.judge(adjusted: byPair[index], among: tested.count)
      whole[pairs[index].place] = pairs[index].pair.row
    }
    rows = (0..<place).compactMap { whole[$0] }
    informative = extra
    let present = Set(candidate.run.cases.map(\.caseID))
    for before in base.run.cases where !present.contains(before.caseID) {
      rows.append(
        .init(caseID: before.caseID, verdict: .missing, clause: "the base has this case, the candidate doesn't"))
    }
  }

  /// A verdict on the whole case, where its quantities aren't compared.
  private static func verdictOnCase(_ base: RunCase?, _ candidate: RunCase, _ obstacle: EnvironmentDifference?) -> MetricVerdict?
  {
    let id = candidate.caseID
    let reason = candidate.statusReason ?? "no reason given"
    if candidate.status == .invalid {
      return .init(caseID: id, verdict: .invalid, clause: "wrong results, so its speed says nothing: \(reason)")
    }
    if candidate.status.isFailure {
      return .init(caseID: id, verdict: .failed, clause: "\(candidate.status.rawValue): \(reason)")
    }
    if candidate.status == .incomplete {
      return .init(caseID: id, verdict: .missing, clause: "the candidate's case is incomplete: \(reason)")
    }
    guard let base else { return .init(caseID: id, verdict: .new, clause: "the base doesn't have this case") }
    if base.status != .pass {
      return .init(
        caseID: id, verdict: .notComparable,
        clause: "the base's case is \(base.status.rawValue): \(base.statusReason ?? "no reason given")")
    }
    if let obstacle {
      return .init(
        caseID: id, verdict: .notComparable,
        clause:
          "\(obstacle.fact) differs: \(obstacle.base) and \(obstacle.candidate) (--ignore-environment compares all the same)")
    }
    return nil
  }

  /// The verdicts of a kind.
  public func rows(_ verdict: Verdict) -> [MetricVerdict] { rows.filter { $0.verdict == verdict } }

  /// The cases with a verdict, each once.
  public func cases(_ verdict: Verdict) -> [String] {
    var seen: Set<String> = []
    return rows(verdict).map(\.caseID).filter { seen.insert($0).inserted }
  }

  /// How many verdicts of each kind there are, the worst first: `2 regressed, 5 unchanged`.
  public var headline: String {
    let order: [Verdict] = [
      .failed, .invalid, .regressed, .missing, .inconclusive, .notComparable, .improved, .new, .unchanged,
    ]
    let parts = order.compactMap { verdict -> String? in
      let count = rows(verdict).count
      return count == 0 ? nil : "\(count) \(verdict.rawValue.replacing("_", with: " "))"
    }
    return parts.isEmpty ? "nothing to compare" : parts.joined(separator: ", ")
  }

  /// The largest of the smallest changes that would be found, over all judged quantities; nil when none is known.
  public var detectable: Double? { rows.compactMap(\.detectable).max() }

  /// A fraction as `+12.3 %`, or without a sign.
  public static func percent(_ fraction: Double, signed: Bool = true) -> String { MetricPair.percent(fraction, signed: signed) }

  /// The comparison as JSON.
  public func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
  }

  /// What remains of suspicions after a second measurement: a change counts only when both measurements show it.
  ///
  /// - Parameter second: The same base (or a new measurement of it) against a new measurement of the candidate.
  public func confirmed(by second: RunComparison) -> RunComparison {
    var result = self
    for index in rows.indices where rows[index].verdict == .regressed || rows[index].verdict == .improved {
      let row = rows[index]
      guard let again = second.rows.first(where: { $0.caseID == row.caseID && $0.metric == row.metric }) else { continue }
      if again.verdict == row.verdict {
        result.rows[index].clause += "; a second measurement agrees (\(again.change.map { MetricPair.percent($0) } ?? "?"))"
      } else if again.verdict == .failed || again.verdict == .invalid {
        result.rows[index] = again
      } else {
        result.rows[index].verdict = .unchanged
        result.rows[index].clause += "; not confirmed: a second measurement says \(again.verdict.rawValue), \(again.clause)"
      }
    }
    // A case that failed or went wrong the second time has a row for the whole of it.
    for row in second.rows where (row.verdict == .failed || row.verdict == .invalid) && !result.rows.contains(row) {
      result.rows.removeAll { $0.caseID == row.caseID }
      result.rows.append(row)
    }
    return result
  }
}
