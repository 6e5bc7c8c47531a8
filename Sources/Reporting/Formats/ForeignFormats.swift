import Checkpoints
import Foundation
import Measurement

/// A run in the formats of other tools.
public enum ForeignFormats {
  /// What github-action-benchmark reads: an array of `{name, unit, value, range, extra}`; one direction a file.
  ///
  /// Cases that failed or are wrong have no numbers.
  public static func githubActionBenchmark(_ run: RunDocument, polarity: RunCase.Metric.Polarity) -> String {
    var entries: [JSONValue] = []
    for (runCase, metric) in metrics(of: run) where metric.polarity == polarity {
      guard let median = metric.summary.median else { continue }
      var entry: [String: JSONValue] = [
        "name": .string("\(runCase.displayName) \(metric.name)"), "unit": .string(metric.unit.rawValue), "value": .number(median),
        "extra": .string("n \(metric.summary.n), sessions \(metric.sessionMedians.count), \(RunTable.verdict(runCase))"),
      ]
      if let interval = metric.summary.ci { entry["range"] = .string("95 % CI \(interval.low)...\(interval.high)") }
      entries.append(.object(entry))
    }
    return JSONValue.array(entries).text() + "\n"
  }

  /// Bencher Metric Format: `{case: {measure: {value, lower_value, upper_value}}}`.
  public static func bmf(_ run: RunDocument) -> String {
    var cases: [String: JSONValue] = [:]
    for runCase in run.cases where runCase.status == .pass {
      var measures: [String: JSONValue] = [:]
      for metric in runCase.metrics where metric.polarity != .none {
        guard let median = metric.summary.median else { continue }
        var value: [String: JSONValue] = ["value": .number(median)]
        if let interval = metric.summary.ci {
          value["lower_value"] = .number(interval.low)
          value["upper_value"] = .number(interval.high)
        }
        measures[metric.name.rawValue] = .object(value)
      }
      if !measures.isEmpty { cases[runCase.displayName] = .object(measures) }
    }
    return JSONValue.object(cases).text() + "\n"
  }

  /// hyperfine's JSON: `results[]` with `times[]` in seconds, so that its scripts read them.
  public static func hyperfine(_ run: RunDocument) -> String {
    let results = run.cases.compactMap { runCase -> JSONValue? in
      guard runCase.status == .pass, let summary = runCase.summary(.endToEnd), let mean = summary.mean,
        let median = summary.median
      else { return nil }
      let times = runCase.sessions.flatMap(\.samples).map { JSONValue.number(Double($0.e2eNs) / 1e9) }
      func seconds(_ value: Double?) -> JSONValue { value.map { .number($0 / 1e9) } ?? .null }
      var parameters: [String: JSONValue] = ["scenario": .string(runCase.scenario.rawValue)]
      if let steps = runCase.parameters.steps { parameters["steps"] = .string(String(steps)) }
      if let scheduler = runCase.parameters.scheduler { parameters["scheduler"] = .string(scheduler) }
      if let width = runCase.parameters.width, let height = runCase.parameters.height {
        parameters["size"] = .string("\(width)x\(height)")
      }
      let peak = runCase.summary(.peakResident)?.max
      return [
        "command": .string(runCase.displayName), "mean": seconds(mean), "stddev": seconds(summary.stddev),
        "median": seconds(median),
        "user": .null, "system": .null, "min": seconds(summary.min), "max": seconds(summary.max), "times": .array(times),
        "memory_usage_byte": peak.map { .array([.integer(Int($0))]) } ?? .array([]),
        "exit_codes": .array(times.map { _ in 0 }), "parameters": .object(parameters),
      ]
    }
    return JSONValue.object(["results": .array(results)]).text() + "\n"
  }

  /// google-benchmark's JSON, schema version 1: a row a session, and the aggregates.
  public static func googleBenchmark(_ run: RunDocument) -> String {
    var rows: [JSONValue] = []
    for (runCase, metric) in metrics(of: run) where metric.unit == .nanoseconds {
      let name = "\(runCase.displayName)/\(metric.name)"
      let count = metric.sessionMedians.count
      for (index, value) in metric.sessionMedians.enumerated() {
        rows.append([
          "name": .string(name), "run_name": .string(name), "run_type": "iteration", "repetitions": .integer(count),
          "repetition_index": .integer(index), "threads": 1, "iterations": 1, "real_time": .number(value),
          "cpu_time": .number(value),
          "time_unit": "ns",
        ])
      }
      for (aggregate, value) in [
        ("mean", metric.summary.mean), ("median", metric.summary.median), ("stddev", metric.summary.stddev),
      ] {
        guard let value else { continue }
        rows.append([
          "name": .string("\(name)_\(aggregate)"), "run_name": .string(name), "run_type": "aggregate",
          "aggregate_name": .string(aggregate), "aggregate_unit": "time", "repetitions": .integer(count), "threads": 1,
          "iterations": .integer(metric.summary.n), "real_time": .number(value), "cpu_time": .number(value), "time_unit": "ns",
        ])
      }
    }
    for runCase in run.cases where runCase.status != .pass {
      rows.append([
        "name": .string(runCase.displayName), "run_name": .string(runCase.displayName), "run_type": "iteration",
        "repetitions": 0, "repetition_index": 0, "threads": 1, "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns",
        "error_occurred": true, "error_message": .string("\(runCase.status.rawValue): \(runCase.statusReason ?? "")"),
      ])
    }
    let cpu = run.environment.cpu
    let caches = cpu.caches.map { cache -> JSONValue in
      [
        "type": .string(cache.type.capitalized), "level": .integer(cache.level), "size": .integer(Int(clamping: cache.bytes)),
        "num_sharing": 1,
      ]
    }
    let context: JSONValue = [
      "date": .string(run.createdAt), "host_name": .string(run.environment.machineName ?? "unknown"), "executable": "genbench",
      "num_cpus": .integer(cpu.logical ?? 0), "mhz_per_cpu": .integer(Int((cpu.freqMaxHz ?? 0) / 1_000_000)),
      "cpu_scaling_enabled": .bool(cpu.governor.map { $0 != "performance" } ?? false), "caches": .array(caches), "load_avg": [],
      "library_version": .string(run.tool.version), "library_build_type": .string(run.tool.build.config),
      "json_schema_version": 1,
    ]
    return JSONValue.object(["context": context, "benchmarks": .array(rows)]).text() + "\n"
  }

  /// The judged quantities of the cases that passed.
  private static func metrics(of run: RunDocument) -> [(RunCase, RunCase.Metric)] {
    run.cases.filter { $0.status == .pass }.flatMap { runCase in
      runCase.metrics.filter { $0.name.isJudged }.map { (runCase, $0) }
    }
  }
}
