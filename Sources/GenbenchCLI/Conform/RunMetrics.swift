import Checkpoints
import Conformance
import Foundation
import GenBackend
import Measurement
import Synchronization

/// What `genbench run` reports, as the group X judges it: the command itself is run, and its `run.json` is read.
struct RunMetrics: MetricsImplementation {
  func sampleDeviation(_ values: [Double]) -> Double? { Statistics.standardDeviation(values) }

  func budget(of events: [GenerationEvent], startNs: UInt64, endNs: UInt64) -> StageBudget {
    let budget = TimeBudget(events: events, startNs: startNs, endNs: endNs)
    return StageBudget(stagesNs: budget.stagesNs, totalNs: budget.totalNs)
  }

  func measure(_ backend: any GenBackend, path: String, warmups: Int, images: Int) async throws -> Measured {
    let scratch = try ScratchFolder("metrics")
    defer { withExtendedLifetime(scratch) {} }
    let folder = scratch.url
    // The command wants a model that's there; the engine takes any.
    let model = folder.appendingPathComponent("model")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let output = Mutex("")
    let words = [
      "run", "--model", model.path, "--prompts", "1", "--warmup", String(warmups), "--repetitions", String(images), "--no-plots",
      "--json", "--out", folder.appendingPathComponent("run").path,
    ]
    let context = CommandContext(
      console: Console(style: Console.Style(), out: { text in output.withLock { $0 += text } }, error: { _ in }),
      environment: [:],
      words: words
    ) { _ in backend }
    let status = await GenbenchCommandLine.run(context)
    return try read(Data(output.withLock { $0 }.utf8), status: status)
  }

  private struct Document: Decodable {
    struct Case: Decodable {
      struct Session: Decodable {
        struct Sample: Decodable {}
        struct Memory: Decodable { var rss_bytes: [UInt64?] }
        var load_ns: UInt64?
        var warmup_ns: [UInt64]
        var samples: [Sample]
        var memory: Memory?
      }
      struct Metric: Decodable {
        struct Summary: Decodable {
          var n: Int
          var mean: Double?
          var max: Double?
        }
        var name: String
        var summary: Summary
      }
      var status: String
      var sessions: [Session]
      var metrics: [Metric]
    }
    var cases: [Case]
  }

  private func read(_ data: Data, status: ProgramExit) throws -> Measured {
    let document = try JSONDecoder().decode(Document.self, from: data)
    guard let measured = document.cases.first else {
      throw CheckFailure(expected: "a case in run.json", seen: "none; exit \(status.code)")
    }
    let session = measured.sessions.first
    let total = measured.metrics.first { $0.name == "e2e_ns" }?.summary
    let peak = measured.metrics.first { $0.name == "peak_rss_bytes" }?.summary.max
    return Measured(
      loadNs: session?.load_ns, warmups: session?.warmup_ns.count ?? 0, counted: total?.n ?? session?.samples.count ?? 0,
      meanNs: total?.mean, saysFailed: measured.status != "pass" && status.code != 0, peakBytes: peak.map { UInt64($0) },
      baselineBytes: session?.memory?.rss_bytes.compactMap { $0 }.first)
  }
}
