import Markup
import Measurement

/// A run or a comparison as JUnit XML: one suite a subject, one test a case.
public enum JUnitReport {
  /// A run.
  public static func xml(_ run: RunDocument) -> String { document(run, comparison: nil) }

  /// A comparison; tests are the candidate's cases, and those that only the base has.
  public static func xml(_ comparison: RunComparison, candidate run: RunDocument) -> String {
    document(run, comparison: comparison)
  }

  private static func document(_ run: RunDocument, comparison: RunComparison?) -> String {
    var suites: [String] = []
    var (tests, failures, errors, skipped) = (0, 0, 0, 0)
    var subjects: [String] = []
    for runCase in run.cases where !subjects.contains(runCase.subject) { subjects.append(runCase.subject) }
    for subject in subjects {
      var suite = Suite(name: subject, run: run)
      for runCase in run.cases where runCase.subject == subject { suite.add(runCase, run, comparison) }
      tests += suite.tests
      failures += suite.failures
      errors += suite.errors
      skipped += suite.skipped
      suites.append(suite.xml)
    }
    let present = Set(run.cases.map(\.caseID))
    let lost = comparison?.rows.filter { $0.verdict == .missing && !present.contains($0.caseID) } ?? []
    if !lost.isEmpty {
      var suite = Suite(name: "missing", run: run)
      for row in lost { suite.addMissing(row) }
      tests += suite.tests
      failures += suite.failures
      suites.append(suite.xml)
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites name="genbench" tests="\(tests)" failures="\(failures)" errors="\(errors)" skipped="\(skipped)">
      \(suites.joined(separator: "\n"))
      </testsuites>

      """
  }

  private struct Suite {
    let name: String
    let run: RunDocument
    var tests = 0
    var failures = 0
    var errors = 0
    var skipped = 0
    private var seconds = 0.0
    private var cases: [String] = []

    init(name: String, run: RunDocument) {
      self.name = name
      self.run = run
    }

    var xml: String {
      var properties = run.labels.sorted { $0.key < $1.key }.map { property("label.\($0.key)", $0.value) }
      properties.append(property("run_id", run.runID))
      properties += run.faults.map { property("FAULT_INJECTED", $0) }
      if let cpu = run.environment.cpu.model { properties.append(property("cpu", cpu)) }
      let host = run.environment.machineName ?? "unknown"
      return """
          <testsuite name="\(XML.attribute(name))" tests="\(tests)" failures="\(failures)" errors="\(errors)" skipped="\(skipped)" \
        time="\(decimal(seconds))" timestamp="\(XML.attribute(String(run.createdAt.prefix(19))))" hostname="\(XML.attribute(host))">
            <properties>
        \(properties.map { "      " + $0 }.joined(separator: "\n"))
            </properties>
        \(cases.joined(separator: "\n"))
          </testsuite>
        """
    }

    mutating func add(_ runCase: RunCase, _ run: RunDocument, _ comparison: RunComparison?) {
      tests += 1
      let samples = runCase.sessions.flatMap(\.samples)
      let time = Double(samples.reduce(0) { $0 + $1.e2eNs }) / 1e9
      seconds += time
      let family = run.subjects.first { $0.id == runCase.subject }?.model.family ?? "none"
      var inner = runCase.metrics.compactMap { metric in
        metric.summary.median.map {
          "      " + property(metric.name.rawValue, "\(Units.significant($0, digits: 6)) \(metric.unit.rawValue)")
        }
      }
      inner = inner.isEmpty ? [] : ["    <properties>"] + inner + ["    </properties>"]
      let rows = comparison?.rows.filter { $0.caseID == runCase.caseID } ?? []
      let reason = runCase.statusReason ?? "no reason given"
      switch runCase.status {
      case .error, .crash, .timeout, .outOfMemory:
        errors += 1
        inner.append(tag("error", runCase.status.rawValue, reason))
      case .invalid:
        failures += 1
        inner.append(tag("failure", "conformance", reason))
      case .incomplete:
        skipped += 1
        inner.append("    <skipped message=\"\(XML.attribute(reason))\"/>")
      case .pass:
        let worse = rows.filter { $0.verdict == .regressed }
        if !worse.isEmpty {
          failures += 1
          inner.append(
            tag("failure", "regression", worse.map { "\($0.metric?.rawValue ?? ""): \($0.clause)" }.joined(separator: "\n")))
        }
      }
      let other = rows.filter { $0.verdict == .inconclusive || $0.verdict == .notComparable || $0.verdict == .improved }
      var said = other.map { "\($0.metric?.rawValue ?? "case"): \($0.verdict.rawValue): \($0.clause)" }
      said.append("reproduce: \(Shell.command(run.command))")
      inner.append("    <system-out>\(XML.text(said.joined(separator: "\n")))</system-out>")
      cases.append(
        """
          <testcase classname="\(XML.attribute("\(name).\(family)"))" name="\(XML.attribute(runCase.displayName))" time="\(decimal(time))">
        \(inner.joined(separator: "\n"))
          </testcase>
        """)
    }

    mutating func addMissing(_ row: MetricVerdict) {
      tests += 1
      failures += 1
      cases.append(
        """
          <testcase classname="missing" name="\(XML.attribute(row.caseID))" time="0">
        \(tag("failure", "missing", row.clause))
          </testcase>
        """)
    }

    private func tag(_ element: String, _ type: String, _ text: String) -> String {
      let first = text.split(separator: "\n").first.map(String.init) ?? ""
      return "    <\(element) type=\"\(type)\" message=\"\(XML.attribute(first))\">\(XML.text(text))</\(element)>"
    }

    private func property(_ name: String, _ value: String) -> String {
      "<property name=\"\(XML.attribute(name))\" value=\"\(XML.attribute(value))\"/>"
    }

    private func decimal(_ value: Double) -> String { value == 0 ? "0" : Units.significant(value, digits: 6) }
  }
}
