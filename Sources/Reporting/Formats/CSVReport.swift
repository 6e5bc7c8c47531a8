import Markup

/// A run as a long table: one line a sample of a quantity (RFC 4180).
public enum CSVReport {
  /// The table with its header.
  public static func text(_ run: RunDocument) -> String {
    var rows = [["run_id", "case_id", "side", "subject", "scenario", "session", "index", "metric", "unit", "value"]]
    for runCase in run.cases {
      for metric in runCase.metrics {
        for (session, value) in metric.sessionMedians.enumerated() {
          rows.append([
            run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario, String(session), "median",
            metric.name,
            metric.unit, number(value),
          ])
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
            rows.append([
              run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario, String(session.session),
              String(sample.index), name, "ns", String(value),
            ])
          }
        }
      }
    }
    return CSV.table(rows)
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }
}
