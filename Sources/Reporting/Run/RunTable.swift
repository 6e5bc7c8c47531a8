import Measurement

/// The table that a run prints: one line a case.
public enum RunTable {
  /// Aligned text, which is a Markdown table too, and the notes below it.
  public static func markdown(_ run: RunDocument) -> String {
    var table = TextTable([
      ("case", .left), ("images", .right), ("load", .right), ("tokenize", .right), ("text encode", .right),
      ("first step", .right), ("step", .right), ("VAE", .right), ("total", .right), ("peak memory", .right), ("verdict", .left),
    ])
    for runCase in run.cases {
      func time(_ name: String) -> String {
        guard let summary = runCase.summary(name), let median = summary.median else { return "-" }
        return Units.duration(ns: median, spread: summary.n > 1 ? summary.mad : nil)
      }
      let peak = runCase.summary("peak_rss_bytes")?.max
      table.append([
        runCase.caseID, String(runCase.sessions.reduce(0) { $0 + $1.samples.count }), time("load_cold_ns"), time("tokenize_ns"),
        time("text_encode_ns"), time("first_step_ns"), time("step_ns"), time("vae_decode_ns"), time("e2e_ns"),
        peak.map { Units.bytes($0) } ?? "-", verdict(runCase),
      ])
    }
    var notes = ["Medians over images, ± median absolute deviation; peak memory is the resident set's."]
    let accounted = run.cases.compactMap { runCase -> Double? in
      guard let rest = runCase.summary("unaccounted_ns")?.median, let total = runCase.summary("e2e_ns")?.median, total > 0 else {
        return nil
      }
      return rest / total * 100
    }
    if let most = accounted.max() { notes.append("At most \(Units.significant(most, digits: 2)) % of the time is in no stage.") }
    for runCase in run.cases where runCase.status != .pass {
      notes.append("\(runCase.caseID): \(runCase.status.rawValue): \(runCase.statusReason ?? "no reason given")")
    }
    let tool = run.tool
    let commit = tool.commit.map { " " + $0.prefix(10) + (tool.dirty == true ? "+" : "") } ?? ""
    var build = "\(tool.name) \(tool.version)\(commit), \(tool.build.config) build, Swift \(tool.build.swiftVersion)"
    if tool.build.config == "debug" { build += " (speeds of a debug build say little: measure with -c release)" }
    notes.append(build)
    var machine = [run.environment.cpu.model, run.environment.os.name].compactMap { $0 }
    machine += run.subjects.first?.backend.details.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } ?? []
    if !machine.isEmpty { notes.append(machine.joined(separator: ", ")) }
    return table.markdown + "\n\n" + notes.joined(separator: "  \n") + "\n"
  }

  private static func verdict(_ runCase: RunCase) -> String {
    switch runCase.status {
    case .pass: runCase.conformance ?? "not judged"
    case .error: "failed"
    case .outOfMemory: "out of memory"
    case .incomplete: "incomplete"
    }
  }
}
