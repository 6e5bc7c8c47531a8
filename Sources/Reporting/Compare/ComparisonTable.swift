import Measurement

/// A comparison as Markdown, which reads well as text too.
public enum ComparisonTable {
  /// One side's value of a row with its unit; `-` for none.
  static func value(_ value: Double?, _ row: MetricVerdict) -> String { row.unit?.text(value) ?? "-" }

  /// The comparison.
  ///
  /// - Parameter showsAll: Whether unchanged quantities and those without a verdict have rows too.
  public static func markdown(_ comparison: RunComparison, showsAll: Bool = false) -> String {
    var lines: [String] = []
    lines += FaultNotice.lines(
      comparison.base.faults.map { "base: \($0)" } + comparison.candidate.faults.map { "candidate: \($0)" })
    lines.append("**\(comparison.headline)**: \(label(comparison.candidate)) against \(label(comparison.base))")
    lines.append("")
    var table = TextTable([
      ("case", .left), ("quantity", .left), ("base", .right), ("candidate", .right), ("change", .right), ("verdict", .left),
      ("because", .left),
    ])
    let shown = comparison.rows.filter { showsAll || $0.verdict != .unchanged }
    for row in shown + (showsAll ? comparison.informative : []) {
      table.append([
        row.caseID, row.metric?.rawValue ?? "-", value(row.base, row), value(row.candidate, row),
        row.change.map { MetricPair.percent($0) } ?? "-", row.verdict.rawValue.replacing("_", with: " "), row.clause,
      ])
    }
    if shown.isEmpty && !showsAll {
      lines.append("Nothing changed in \(comparison.rows.count) comparisons.")
    } else {
      lines.append(table.markdown)
    }
    lines.append("")
    let judged = comparison.rows.compactMap(\.detectable)
    if let least = judged.min(), let most = judged.max() {
      lines.append(
        "Smallest change that this set-up can detect (19 times in 20): \(MetricPair.percent(least, signed: false)) to "
          + "\(MetricPair.percent(most, signed: false)), by quantity.")
    } else if !comparison.rows.isEmpty {
      lines.append(
        "How small a change this set-up can detect isn't known: measure 5 sessions or more, or run `genbench calibrate`.")
    }
    if !comparison.environment.isEmpty {
      lines.append("")
      lines.append("What differs around them:")
      for difference in comparison.environment {
        lines.append(
          "* \(difference.fact): \(difference.base) -> \(difference.candidate)\(difference.isDecisive ? " (decisive)" : "")")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func label(_ side: RunComparison.Side) -> String {
    side.commit.map { "\(side.name) (\($0.prefix(10)))" } ?? side.name
  }
}

/// The loud part of every report on a run whose kernels had faults put in.
public enum FaultNotice {
  /// A paragraph in Markdown; nothing without faults.
  public static func lines(_ faults: [String]) -> [String] {
    if faults.isEmpty { return [] }
    return [
      "> **FAULT INJECTED: \(faults.joined(separator: "; ")).** GENBENCH_FAULT made the engine slow or wrong on purpose: these "
        + "numbers say nothing about it.", "",
    ]
  }
}
