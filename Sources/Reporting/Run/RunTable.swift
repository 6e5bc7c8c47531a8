import GenBackend
import Measurement

/// The table that a run prints: one line a case.
public enum RunTable {
  /// Aligned text, which is a Markdown table too, and the notes below it.
  public static func markdown(_ run: RunDocument) -> String {
    var blocks: [String] = FaultNotice.lines(run.faults)
    let images = run.cases.filter { $0.parameters.maxTokens == nil }
    let texts = run.cases.filter { $0.parameters.maxTokens != nil }
    var tables: [String] = []
    if !images.isEmpty || texts.isEmpty { tables.append(imageTable(images).markdown) }
    if !texts.isEmpty { tables.append(textTable(texts).markdown) }
    blocks.append(tables.joined(separator: "\n\n"))
    return blocks.joined(separator: "\n") + "\n\n" + notes(run).joined(separator: "  \n") + "\n"
  }

  private static func time(_ runCase: RunCase, _ name: MetricName) -> String {
    guard let summary = runCase.summary(name), let median = summary.median else { return "-" }
    return Units.duration(ns: median, spread: summary.n > 1 ? summary.mad : nil)
  }

  private static func peak(_ runCase: RunCase) -> String { runCase.summary(.peakResident)?.max.map { Units.bytes($0) } ?? "-" }

  private static func count(_ runCase: RunCase) -> String {
    let samples = runCase.sessions.reduce(0) { $0 + $1.samples.count }
    // Baselines keep no samples.
    return String(samples > 0 ? samples : runCase.summary(.endToEnd)?.n ?? 0)
  }

  /// A table of cases: the name, how many requests, the quantities, the peak, the verdict.
  private static func table(_ cases: [RunCase], counting: String, _ columns: [MetricName]) -> TextTable {
    var table = TextTable(
      [("case", .left), (counting, .right)] + columns.map { ($0.title, .right) }
        + [(MetricName.peakResident.title, .right), ("verdict", .left)])
    for runCase in cases {
      table.append(
        [runCase.displayName, count(runCase)] + columns.map { cell(runCase, $0) } + [peak(runCase), verdict(runCase)])
    }
    return table
  }

  private static func cell(_ runCase: RunCase, _ name: MetricName) -> String {
    switch name {
    case .loadCold: time(runCase, runCase.metric(.loadWarm) != nil ? .loadWarm : .loadCold)
    case .endToEnd where runCase.metric(.cancel) != nil: "\(MetricName.cancel.title) \(time(runCase, .cancel))"
    case .prefillRate, .decodeRate: runCase.summary(name)?.median.map { Units.significant($0) + " tok/s" } ?? "-"
    default: time(runCase, name)
    }
  }

  private static func imageTable(_ cases: [RunCase]) -> TextTable {
    table(
      cases, counting: "images",
      [.loadCold, .stage(.tokenize), .stage(.textEncode), .firstStep, .step, .stage(.vaeDecode), .endToEnd])
  }

  private static func textTable(_ cases: [RunCase]) -> TextTable {
    table(
      cases, counting: "answers",
      [.loadCold, .stage(.visionEncode), .prefillRate, .timeToFirstToken, .decodeRate, .endToEnd])
  }

  private static func notes(_ run: RunDocument) -> [String] {
    let sessions = run.cases.map { max($0.sessions.count, $0.metric(.endToEnd)?.sessionMedians.count ?? 0) }.max() ?? 0
    var notes = [
      "Medians over requests, ± median absolute deviation; \(sessions) session\(sessions == 1 ? "" : "s"). Peak memory is the resident set's."
    ]
    if run.cases.contains(where: { $0.parameters.maxTokens != nil }) {
      notes.append(
        "Prefill: prompt tokens over the time of the prefill alone. Decode: tokens after the first over the time after the first."
      )
    }
    notes.append(detectable(run))
    let accounted = run.cases.compactMap { runCase -> Double? in
      guard let rest = runCase.summary(.unaccounted)?.median, let total = runCase.summary(.endToEnd)?.median, total > 0 else {
        return nil
      }
      return rest / total * 100
    }
    if let most = accounted.max() { notes.append("At most \(Units.significant(most, digits: 2)) % of the time is in no stage.") }
    if let cost = run.cases.compactMap({ $0.summary(.harnessOverhead)?.median }).max() {
      notes.append("The harness itself costs \(Units.duration(ns: cost)) a request (measured on an engine that does nothing).")
    }
    for runCase in run.cases where runCase.status != .pass {
      notes.append("\(runCase.displayName): \(runCase.status.rawValue): \(runCase.statusReason ?? "no reason given")")
    }
    for reason in Set(run.cases.compactMap { $0.conformance?.result == .notJudged ? $0.conformance?.detail : nil }).sorted() {
      notes.append("Not judged: \(reason).")
    }
    for runCase in run.cases {
      if let sustained = runCase.sustained, let slowdown = sustained.slowdown {
        let onset = sustained.onsetNs.map { "slower from \(Units.duration(ns: Double($0))) on" } ?? "no lasting slow-down"
        notes.append("\(runCase.displayName): \(onset), \(MetricPair.percent(slowdown)) at the end.")
      }
    }
    for warning in run.warnings { notes.append("Note: \(warning)") }
    notes += machine(run)
    return notes
  }

  /// The smallest change that a comparison with another run of this kind would find.
  static func detectable(_ run: RunDocument) -> String {
    let changes = run.cases.compactMap { runCase -> Double? in
      guard let metric = runCase.metric(.endToEnd) ?? runCase.metric(.loadWarm), metric.sessionMedians.count >= 3,
        let spread = NoiseFloor.relativeSpread([metric.sessionMedians])
      else { return nil }
      let policy = ComparisonPolicy()
      return NoiseFloor.detectableChange(
        limit: max(policy.threshold, policy.noiseFactor * spread), spread: spread, sessions: metric.sessionMedians.count,
        metric.sessionMedians.count)
    }
    guard let least = changes.min(), let most = changes.max() else {
      return "How small a change this set-up can detect isn't known with so few sessions; --sessions 10 tells."
    }
    let range =
      least == most
      ? MetricPair.percent(most, signed: false)
      : "\(MetricPair.percent(least, signed: false)) to \(MetricPair.percent(most, signed: false))"
    return "Smallest change of the total that this set-up can detect (19 times in 20): \(range), by case."
  }

  private static func machine(_ run: RunDocument) -> [String] {
    let tool = run.tool
    let commit = tool.commit.map { " " + $0.prefix(10) + (tool.dirty == true ? "+" : "") } ?? ""
    var build = "\(tool.name) \(tool.version)\(commit), \(tool.build.config) build, Swift \(tool.build.swiftVersion)"
    if tool.build.config == "debug" { build += " (speeds of a debug build say little: measure with -c release)" }
    var notes = [build]
    let machines = run.parents.isEmpty ? [run.environment] : run.parents.map(\.environment)
    var seen: Set<String> = []
    for environment in machines {
      var words = [environment.cpu.model, environment.os.name].compactMap { $0 }
      if run.parents.isEmpty {
        words += run.subjects.first?.backend.details.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } ?? []
      }
      let line = words.joined(separator: ", ")
      if !line.isEmpty, seen.insert(line).inserted { notes.append(line) }
    }
    return notes
  }

  /// The word in the column of verdicts.
  static func verdict(_ runCase: RunCase) -> String {
    switch runCase.status {
    case .pass:
      switch runCase.conformance?.result {
      case .pass: "right"
      case .fail: "WRONG"
      case .notJudged, nil: "not judged"
      }
    case .invalid: "INVALID: wrong results"
    case .error: "failed"
    case .crash: "crashed"
    case .timeout: "timed out"
    case .outOfMemory: "out of memory"
    case .incomplete: "incomplete"
    }
  }
}
