public import Foundation
import GenBackend
import Markup
import Measurement

/// A run as one page: no script, no other file; light and dark.
public struct HTMLReport {
  /// An image beside the one of another run.
  public struct ImagePair: Sendable {
    /// This run's, as PNG.
    public var candidate: Data
    /// The other run's, as PNG.
    public var base: Data
    /// Where they differ, as PNG; nil when their sizes do.
    public var difference: Data?
    /// How far they're apart, in words.
    public var text: String

    /// Makes a pair.
    public init(candidate: Data, base: Data, difference: Data?, text: String) {
      self.candidate = candidate
      self.base = base
      self.difference = difference
      self.text = text
    }
  }

  private let run: RunDocument
  private let comparison: RunComparison?
  /// A small version of an image of the run, as PNG.
  private let thumbnail: (String) -> Data?
  /// An image of the run beside the other run's.
  private let pair: (RunCase, String) -> ImagePair?

  /// Images of a case on the page, at most.
  static let imageLimit = 12

  /// Makes a report.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - comparison: With another run, whose verdicts stand on the page.
  ///   - thumbnail: A small PNG of an artifact; nil leaves it out.
  ///   - pair: An artifact beside that of the other run; nil where there's none.
  public init(
    _ run: RunDocument, comparison: RunComparison? = nil, thumbnail: @escaping (String) -> Data? = { _ in nil },
    pair: @escaping (RunCase, String) -> ImagePair? = { _, _ in nil }
  ) {
    self.run = run
    self.comparison = comparison
    self.thumbnail = thumbnail
    self.pair = pair
  }

  /// The page.
  public var page: String {
    var body: [String] = []
    body.append("<style>\(SVGChart.style)\(Self.style)</style>")
    body.append("<h1>genbench run</h1>")
    body.append("<p class=\"dim\">\(XML.text(facts.joined(separator: " · ")))</p>")
    if !run.faults.isEmpty {
      body.append(
        "<p class=\"fault\">FAULT INJECTED: \(XML.text(run.faults.joined(separator: "; "))). GENBENCH_FAULT made the engine slow or "
          + "wrong on purpose: these numbers say nothing about it.</p>")
    }
    body.append("<p><strong>\(XML.text(MarkdownReport.headline(run)))</strong></p>")
    body.append(summaryTable)
    body.append("<ul class=\"dim\">\(notes.map { "<li>\(XML.text($0))</li>" }.joined())</ul>")
    if let comparison { body += section(of: comparison) }
    let stepped = run.cases.filter { runCase in runCase.sessions.contains { $0.samples.contains { !$0.stepsNs.isEmpty } } }
    if !stepped.isEmpty {
      body.append("<h2>Time of each step</h2>")
      body.append(
        SVGChart.lines(
          stepped.prefix(7).map(Self.stepSeries), x: "step", y: "step time", format: { Units.duration(ns: $0) }, whole: true))
    }
    for runCase in run.cases { body += section(of: runCase) }
    body += environmentSection
    return HTMLPage.page(title: "genbench \(run.createdAt)", body: body)
  }

  private static let style = """
    .fault{background:#b3261e;color:#fff;padding:.7rem 1rem;border-radius:6px;font-weight:700}.warn{color:var(--warn)}
    .images{display:flex;flex-wrap:wrap;gap:10px}.images figure{margin:0;width:132px}.images img{width:132px;height:auto;border-radius:4px;background:var(--head)}
    .images.pairs figure{width:auto}.images.pairs img{width:150px}figcaption{font-size:12px;color:var(--dim);overflow-wrap:anywhere}
    td.n{white-space:nowrap}h3{font-size:1rem;margin:1.2rem 0 .3rem}.verdict-regressed,.verdict-invalid,.verdict-failed,.verdict-missing{color:var(--fail);font-weight:600}
    .verdict-improved{color:var(--pass);font-weight:600}.verdict-inconclusive,.verdict-not_comparable,.verdict-new{color:var(--warn)}
    """

  private var facts: [String] {
    var facts = [run.createdAt, run.environment.cpu.model, run.environment.os.name].compactMap { $0 }
    if let commit = run.tool.commit { facts.append("commit \(commit.prefix(10))\(run.tool.dirty == true ? "+" : "")") }
    facts.append("\(run.tool.build.config) build")
    facts += run.labels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return facts
  }

  private var notes: [String] {
    var notes = [RunTable.detectable(run)]
    if run.tool.build.config == "debug" { notes.append("Speeds of a debug build say little: measure with -c release.") }
    notes += run.cases.filter { $0.status != .pass }.map {
      "\($0.displayName): \($0.status.rawValue): \($0.statusReason ?? "no reason given")"
    }
    return notes + run.warnings
  }

  // MARK: - Tables

  private static func cell(_ runCase: RunCase, _ name: MetricName) -> String {
    guard let metric = runCase.metric(name), let median = metric.summary.median else { return "<td class=\"n\">-</td>" }
    let spread = metric.summary.n > 1 ? metric.summary.mad : nil
    let text = metric.unit == .nanoseconds ? Units.duration(ns: median, spread: spread) : metric.unit.text(median)
    return "<td class=\"n\">\(XML.text(text))</td>"
  }

  private var summaryTable: String {
    let isText = run.cases.contains { $0.parameters.maxTokens != nil }
    let isImage = run.cases.contains { $0.parameters.maxTokens == nil }
    var columns: [MetricName] = [.loadCold]
    if isImage { columns += [.stage(.textEncode), .step, .stage(.vaeDecode)] }
    if isText { columns += [.stage(.visionEncode), .prefillRate, .timeToFirstToken, .decodeRate] }
    columns += [.endToEnd, .peakResident]
    let head = columns.map { "<th class=\"c\">\($0.title)</th>" }.joined()
    let rows = run.cases.enumerated().map { index, runCase -> String in
      let kind = runCase.status == .pass ? (runCase.conformance?.result == .pass ? "pass" : "skip") : "fail"
      return "<tr><td><a href=\"#case-\(index)\">\(XML.text(runCase.displayName))</a></td>"
        + columns.map { Self.cell(runCase, $0) }.joined()
        + "<td class=\"\(kind)\">\(XML.text(RunTable.verdict(runCase)))</td></tr>"
    }
    return "<div class=\"scroll\"><table><tr><th>case</th>\(head)<th>verdict</th></tr>\(rows.joined())</table></div>"
  }

  private func section(of comparison: RunComparison) -> [String] {
    var body = ["<h2>Against \(XML.text(comparison.base.name)): \(XML.text(comparison.headline))</h2>"]
    func line(_ row: MetricVerdict) -> String {
      """
      <tr><td class="id">\(XML.text(row.caseID))</td><td>\(XML.text(row.metric?.rawValue ?? "-"))</td>\
      <td class="n">\(XML.text(ComparisonTable.value(row.base, row)))</td>\
      <td class="n">\(XML.text(ComparisonTable.value(row.candidate, row)))</td>\
      <td class="n">\(row.change.map { MetricPair.percent($0) } ?? "-")</td>\
      <td class="verdict-\(row.verdict.rawValue)">\(row.verdict.rawValue.replacing("_", with: " "))</td><td class="dim">\(XML.text(row.clause))</td></tr>
      """
    }
    func table(_ rows: [MetricVerdict]) -> String {
      "<div class=\"scroll\"><table><tr><th>case</th><th>quantity</th><th>base</th><th>candidate</th><th>change</th><th>verdict</th>"
        + "<th>because</th></tr>\(rows.map(line).joined())</table></div>"
    }
    let calm = comparison.rows(.unchanged)
    let other = comparison.rows.filter { $0.verdict != .unchanged }
    if !other.isEmpty { body.append(table(other)) }
    if !calm.isEmpty { body.append("<details><summary>\(calm.count) unchanged</summary>\(table(calm))</details>") }
    if !comparison.environment.isEmpty {
      let items = comparison.environment.map {
        "<li>\(XML.text("\($0.fact): \($0.base) → \($0.candidate)\($0.isDecisive ? " (decisive)" : "")"))</li>"
      }
      body.append("<p>What differs around them:</p><ul class=\"dim\">\(items.joined())</ul>")
    }
    return body
  }

  // MARK: - Cases

  private static func stepSeries(_ runCase: RunCase) -> SVGChart.Series {
    let samples = runCase.sessions.flatMap(\.samples).map(\.stepsNs)
    var series = SVGChart.Series(name: runCase.displayName, points: [])
    for step in 0..<(samples.map(\.count).max() ?? 0) {
      let values = samples.compactMap { $0.indices.contains(step) ? Double($0[step]) : nil }
      guard let median = Statistics.median(values), let low = Statistics.quantile(values, 0.1),
        let high = Statistics.quantile(values, 0.9)
      else { continue }
      series.points.append((Double(step + 1), median))
      series.band.append((Double(step + 1), low, high))
    }
    return series
  }

  /// Where the time of a request goes: medians of the stages, and the rest.
  static func budget(_ runCase: RunCase) -> [(name: String, value: Double)] {
    let samples = runCase.sessions.flatMap(\.samples)
    guard let first = samples.first else { return [] }
    var parts: [(name: String, value: Double)] = []
    for stage in first.orderedStages.map(\.name) {
      let values = samples.compactMap { $0.stagesNs[stage].map { Double($0) } }
      if let median = Statistics.median(values), median > 0 { parts.append((stage == "step" ? "steps" : stage, median)) }
    }
    if let rest = Statistics.median(samples.map { Double($0.unaccountedNs) }), rest > 0 { parts.append(("unaccounted", rest)) }
    return parts
  }

  private func section(of runCase: RunCase) -> [String] {
    let index = run.cases.firstIndex { $0.key == runCase.key && $0.side == runCase.side } ?? 0
    var body = ["<h2 id=\"case-\(index)\">\(XML.text(runCase.displayName))</h2>"]
    var words = ["\(runCase.subject)", "scenario \(runCase.scenario)", RunTable.verdict(runCase)]
    if let conformance = runCase.conformance { words.append("\(conformance.policy): \(conformance.detail)") }
    body.append("<p class=\"dim\">\(XML.text(words.joined(separator: " · ")))</p>")
    let budget = Self.budget(runCase)
    if !budget.isEmpty {
      body.append("<h3>Where the time goes (median request)</h3>")
      body.append(SVGChart.bar(budget, format: { Units.duration(ns: $0) }))
    }
    let medians = runCase.metric(.endToEnd)?.sessionMedians ?? []
    let samples = runCase.sessions.flatMap { session in session.samples.map { (session.session, Double($0.e2eNs)) } }
    if samples.count > 1 {
      body.append("<h3>Requests in the order of measuring\(medians.count > 1 ? ", a colour a session" : "")</h3>")
      var place = 0.0
      let series = runCase.sessions.map { session in
        SVGChart.Series(
          name: "session \(session.session + 1)",
          points: session.samples.map { sample in
            place += 1
            return (place, Double(sample.e2eNs))
          }, isDots: true)
      }
      body.append(SVGChart.lines(series, x: "request", y: "time of a request", format: { Units.duration(ns: $0) }, whole: true))
    }
    body += memorySection(runCase)
    if let sustained = runCase.sustained {
      let points = sustained.minuteMediansNs.enumerated().compactMap { minute, value in value.map { (x: Double(minute), y: $0) } }
      body.append("<h3>Minute by minute</h3>")
      body.append(
        SVGChart.lines(
          [.init(name: "median", points: points)], x: "minute", y: "median request", format: { Units.duration(ns: $0) },
          whole: true))
    }
    body.append(metricTable(runCase))
    body += imageSection(runCase)
    let answers = runCase.sessions.first?.samples.prefix(6).compactMap { sample in sample.text.map { (sample.prompt, $0) } } ?? []
    if !answers.isEmpty {
      let items = answers.map { prompt, text in
        "<li><strong>\(XML.text(prompt))</strong> \(XML.text(text.answer)) <span class=\"dim\">(\(text.newTokens) tokens, \(text.finishReason))</span></li>"
      }
      body.append("<details><summary>Answers</summary><ul>\(items.joined())</ul></details>")
    }
    return body
  }

  private func memorySection(_ runCase: RunCase) -> [String] {
    guard let session = runCase.sessions.first(where: { $0.memory?.rssBytes.contains { $0 != nil } ?? false }),
      let memory = session.memory
    else { return [] }
    func series(_ name: String, _ bytes: [UInt64?]) -> SVGChart.Series {
      let known = zip(memory.tNs, bytes).compactMap { time, value in
        value.map { (x: Double(time) / 1e9, y: Double($0) / 1_048_576) }
      }
      // A page needs no more points than pixels.
      let stride = max(1, known.count / 600)
      return .init(name: name, points: known.enumerated().filter { $0.offset % stride == 0 }.map(\.element))
    }
    let lines = [
      series("resident", memory.rssBytes), series("anonymous", memory.anonymousBytes), series("mapped", memory.mappedBytes),
    ].filter { !$0.points.isEmpty }
    var body = ["<h3>Memory over time (session \(session.session + 1))</h3>"]
    body.append(SVGChart.lines(lines, x: "s", y: "memory", format: { "\(Units.significant($0)) MiB" }))
    if let peak = memory.peak(in: session.samples) {
      body.append(
        "<p class=\"dim\">Largest reading: \(XML.text(Units.bytes(Double(peak.bytes)))) in \(XML.text(peak.stage)).</p>")
    }
    return body
  }

  private func metricTable(_ runCase: RunCase) -> String {
    let rows = runCase.metrics.map { metric -> String in
      let summary = metric.summary
      func value(_ number: Double?) -> String { XML.text(metric.unit.text(number)) }
      return "<tr><td class=\"id\">\(XML.text(metric.name.rawValue))</td><td class=\"n\">\(value(summary.median))</td>"
        + "<td class=\"n\">\(summary.ci.map { "\(value($0.low)) to \(value($0.high))" } ?? "-")</td>"
        + "<td class=\"n\">\(value(summary.mad))</td><td class=\"n\">\(value(summary.min))</td><td class=\"n\">\(value(summary.max))</td>"
        + "<td class=\"n\">\(value(summary.percentiles["90"]))</td><td class=\"n\">\(value(summary.percentiles["99"]))</td>"
        + "<td class=\"n\">\(summary.n)</td><td class=\"n\">\(summary.outliersMild) / \(summary.outliersSevere)</td></tr>"
    }
    return
      "<details><summary>All quantities</summary><div class=\"scroll\"><table><tr><th>quantity</th><th>median</th><th>95 % interval</th>"
      + "<th>MAD</th><th>min</th><th>max</th><th>p90</th><th>p99</th><th>n</th><th>outliers mild / severe</th></tr>\(rows.joined())</table></div></details>"
  }

  private func imageSection(_ runCase: RunCase) -> [String] {
    func source(_ data: Data) -> String { "data:image/png;base64,\(data.base64EncodedString())" }
    let prompts = Dictionary(
      runCase.sessions.flatMap(\.samples).compactMap { sample in sample.image.map { ($0, sample.prompt) } },
      uniquingKeysWith: { first, _ in first })
    var pairs: [String] = []
    var singles: [String] = []
    for artifact in runCase.artifacts.prefix(Self.imageLimit) {
      let prompt = prompts[artifact] ?? artifact
      if let pair = pair(runCase, artifact) {
        let images = [("this run", pair.candidate), ("base", pair.base)].map {
          "<img src=\"\(source($0.1))\" alt=\"\(XML.attribute("\($0.0): \(prompt)"))\">"
        }
        let difference = pair.difference.map { "<img src=\"\(source($0))\" alt=\"difference\">" } ?? ""
        pairs.append(
          "<figure>\(images.joined())\(difference)<figcaption>\(XML.text("\(prompt): \(pair.text)"))</figcaption></figure>")
      } else if let data = thumbnail(artifact) {
        singles.append(
          "<figure><img src=\"\(source(data))\" alt=\"\(XML.attribute(prompt))\"><figcaption>\(XML.text(prompt))</figcaption></figure>"
        )
      }
    }
    var body: [String] = []
    if !pairs.isEmpty {
      body.append("<h3>Images: this run, the base, and where they differ</h3><div class=\"images pairs\">\(pairs.joined())</div>")
    }
    if !singles.isEmpty { body.append("<h3>Images</h3><div class=\"images\">\(singles.joined())</div>") }
    if runCase.artifacts.count > Self.imageLimit, !(pairs + singles).isEmpty {
      body.append("<p class=\"dim\">\(runCase.artifacts.count - Self.imageLimit) more are in the run's folder.</p>")
    }
    return body
  }

  private var environmentSection: [String] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    let environment = (try? encoder.encode(run.environment)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let config = run.config.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    return [
      "<h2>Settings and machine</h2>",
      "<details><summary>Command and settings</summary><pre>\(XML.text(run.command.joined(separator: " ")))\n\n\(XML.text(config))</pre></details>",
      "<details><summary>Environment</summary><pre>\(XML.text(environment))</pre></details>",
    ]
  }
}
