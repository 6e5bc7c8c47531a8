import Foundation
import Measurement

@testable import Reporting

/// Runs whose sessions were never waited for: medians are drawn, not measured.
struct SimulatedMachine {
  var random: SplitMix64
  /// The relative standard deviation between sessions.
  var noise: Double

  mutating func normal() -> Double {
    let u = (Double(random.next() >> 11) + 0.5) * 0x1p-53
    return NormalDistribution.quantile(u)
  }

  /// Cases by id with the true time of a request in ms.
  mutating func run(
    _ cases: [(id: String, ms: Double)], sessions: Int, machine: String = "here", metric: MetricName = .endToEnd,
    polarity: RunCase.Metric.Polarity = .lower
  ) -> RunDocument {
    var run = emptyRun(machine: machine)
    for (id, ms) in cases {
      var runCase = RunCase(caseID: id, subject: "s", parameters: .init(steps: 1))
      let values = (0..<sessions).map { _ in ms * 1e6 * (1 + noise * normal()) }
      runCase.metrics = [.init(.of(metric), sessions: values.map { [$0] })]
      runCase.metrics[0].polarity = polarity
      runCase.status = .pass
      run.cases.append(runCase)
    }
    return run
  }
}

func emptyRun(machine: String? = "here", build: String = "release") -> RunDocument {
  var environment = EnvironmentProbe(root: SystemRoot(path: "/nowhere")).read()
  environment.machineID = machine
  return RunDocument(
    runID: "01900000-0000-7000-8000-000000000000", createdAt: "2026-01-02T03:04:05.678Z",
    tool: .init(
      name: "genbench", version: "1", commit: "abc", dirty: false, build: BuildRecord(config: build, swiftVersion: "6.3")),
    command: ["genbench", "run"], config: [:], environment: environment)
}
