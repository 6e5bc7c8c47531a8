import GenBackend

/// A run as a long table: one line a sample of a quantity (RFC 4180).
public enum CSVReport {
  /// The table with its header.
  public static func text(_ run: RunDocument) -> String {
    var lines = ["run_id,case_id,side,subject,scenario,session,index,metric,unit,value"]
    for runCase in run.cases {
      for metric in runCase.metrics {
        for (session, value) in metric.sessionMedians.enumerated() {
          lines.append(
            row([
              run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario.rawValue, String(session),
              "median",
              metric.name.rawValue, metric.unit.rawValue, number(value),
            ]))
        }
      }
      for session in runCase.sessions {
        for sample in session.samples {
          var values = [(MetricName.endToEnd.rawValue, sample.e2eNs), (MetricName.unaccounted.rawValue, sample.unaccountedNs)]
          values += sample.orderedStages.map { (MetricName.stage(Stage(rawValue: $0.name)).rawValue, $0.ns) }
          values += sample.stepsNs.enumerated().map { ("\(MetricName.step)[\($0.offset)]", $0.element) }
          if let first = sample.text?.ttftNs { values.append((MetricName.timeToFirstToken.rawValue, first)) }
          values += (sample.text?.tokensNs ?? []).enumerated().map { ("\(MetricName.token)[\($0.offset + 1)]", $0.element) }
          if let load = sample.loadNs { values.append((MetricName.loadWarm.rawValue, load)) }
          if let cancel = sample.cancelNs { values.append((MetricName.cancel.rawValue, cancel)) }
          for (name, value) in values {
            lines.append(
              row([
                run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario.rawValue,
                String(session.session),
                String(sample.index), name, MetricUnit.nanoseconds.rawValue, String(value),
              ]))
          }
        }
      }
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }

  /// Any table.
  public static func table(_ columns: [String], _ rows: [[String]]) -> String {
    ([columns] + rows).map(row).joined(separator: "\r\n") + "\r\n"
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  /// A line; cells with a comma, quote or line break are put in quotes.
  static func row(_ cells: [String]) -> String {
    cells.map { cell in
      let needsQuotes = cell.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) }
      return needsQuotes ? "\"" + cell.replacing("\"", with: "\"\"") + "\"" : cell
    }.joined(separator: ",")
  }
}
