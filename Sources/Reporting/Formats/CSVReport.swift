import GenBackend
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
            run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario.rawValue, String(session),
            "median",
            metric.name.rawValue, metric.unit.rawValue, number(value),
          ])
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
            rows.append([
              run.runID, runCase.caseID, runCase.side ?? "", runCase.subject, runCase.scenario.rawValue,
              String(session.session),
              String(sample.index), name, MetricUnit.nanoseconds.rawValue, String(value),
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
