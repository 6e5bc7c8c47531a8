import Markup
import Measurement

/// A run as Markdown for a pull request or a step's summary: the table, and the details folded away.
public enum MarkdownReport {
  /// GitHub cuts summaries beyond a mebibyte; details go first.
  static let limit = 900_000

  /// The report.
  public static func text(_ run: RunDocument) -> String {
    var text = "### genbench: \(headline(run))\n\n" + RunTable.markdown(run)
    for runCase in run.cases {
      let details = details(runCase)
      if text.utf8.count + details.utf8.count > limit {
        text += "\nThe details of further cases are left out, as they'd be too long here; `genbench report html` has them.\n"
        break
      }
      text += details
    }
    return text
  }

  /// `3 cases: 2 right, 1 INVALID`.
  static func headline(_ run: RunDocument) -> String {
    var counts: [(String, Int)] = []
    for word in run.cases.map(RunTable.verdict) {
      if let place = counts.firstIndex(where: { $0.0 == word }) { counts[place].1 += 1 } else { counts.append((word, 1)) }
    }
    let parts = counts.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    return "\(run.cases.count) case\(run.cases.count == 1 ? "" : "s")" + (parts.isEmpty ? "" : ": \(parts)")
  }

  private static func details(_ runCase: RunCase) -> String {
    var table = TextTable([
      ("quantity", .left), ("median", .right), ("95 % interval", .right), ("MAD", .right), ("p90", .right), ("p99", .right),
      ("n", .right),
      ("outliers", .right),
    ])
    for metric in runCase.metrics {
      let summary = metric.summary
      func value(_ number: Double?) -> String { metric.unit.text(number) }
      table.append([
        metric.name.rawValue, value(summary.median), summary.ci.map { "\(value($0.low)) to \(value($0.high))" } ?? "-",
        value(summary.mad),
        value(summary.percentiles["90"]), value(summary.percentiles["99"]), String(summary.n),
        summary.outliersMild + summary.outliersSevere == 0
          ? "-" : "\(summary.outliersMild) mild, \(summary.outliersSevere) severe",
      ])
    }
    return "\n<details><summary>\(XML.text(runCase.displayName))</summary>\n\n\(table.markdown)\n\n</details>\n"
  }
}
