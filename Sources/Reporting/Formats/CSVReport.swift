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
              run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario, String(session), "median",
              metric.name,
              metric.unit, number(value),
            ]))
        }
      }
      for session in runCase.sessions {
        for sample in session.samples {
          var values = [("e2e_ns", sample.e2eNs), ("unaccounted_ns", sample.unaccountedNs)]
          values += sample.orderedStages.map { ("\($0.name)_ns", $0.ns) }
          values += sample.stepsNs.enumerated().map { ("step_ns[\($0.offset)]", $0.element) }
          if let first = sample.text?.ttftNs { values.append(("ttft_ns", first)) }
          values += (sample.text?.tokensNs ?? []).enumerated().map { ("token_ns[\($0.offset + 1)]", $0.element) }
          if let load = sample.loadNs { values.append(("load_warm_ns", load)) }
          if let cancel = sample.cancelNs { values.append(("cancel_ns", cancel)) }
          for (name, value) in values {
            lines.append(
              row([
                run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario, String(session.session),
                String(sample.index), name, "ns", String(value),
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
