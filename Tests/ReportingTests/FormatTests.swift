import Checkpoints
import Foundation
import GenBackend
import Measurement
import Testing

@testable import Reporting

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// A run as the assembler makes it, with awkward names.
func assembledRun() -> (RunDocument, [JournalEvent]) {
  let script = JournalScript()
  var run = emptyRun()
  run.cases = script.assembled().cases()
  run.cases[1].caseID = "sd_15/<it's> \"x\" & 100 % 日本語"
  run.cases[1].status = .invalid
  run.cases[1].statusReason = "golden:x: the image isn't it"
  run.cases[1].conformance = .init(.fail, policy: "golden:x", detail: "off")
  run.subjects = [
    RunSubject(
      id: "m", backend: .init(kind: "ref", name: "reference", version: "1", capabilities: [], details: [:]),
      model: .init(family: "sd15", name: "m", params: 1, bytes: 2, precision: "f32"), settings: [:])
  ]
  return (run, script.events)
}

@Suite struct FormatTests {
  private func parsed(_ xml: String) -> (isWell: Bool, tags: [String: Int]) {
    final class Counter: NSObject, XMLParserDelegate {
      var tags: [String: Int] = [:]
      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
      ) {
        tags[name, default: 0] += 1
      }
    }
    let parser = XMLParser(data: Data(xml.utf8))
    let counter = Counter()
    parser.delegate = counter
    return (parser.parse(), counter.tags)
  }

  @Test func junitIsWellFormedAndCounts() {
    var (run, _) = assembledRun()
    run.faults = ["slow:conv2d:2ms"]
    let xml = JUnitReport.xml(run)
    let (isWell, tags) = parsed(xml)
    #expect(isWell && tags["testcase"] == 2 && tags["failure"] == 1 && tags["error"] == nil)
    #expect(
      xml.contains("tests=\"2\" failures=\"1\" errors=\"0\"") && xml.contains("type=\"conformance\"")
        && xml.contains("FAULT_INJECTED"))
    run.cases[0].status = .crash
    run.cases[0].statusReason = "signal 11 ]]> <\u{1}>"
    let broken = JUnitReport.xml(run)
    #expect(parsed(broken).isWell && parsed(broken).tags["error"] == 1)
  }

  @Test func junitOfAComparisonNamesRegressionsAndLosses() {
    var machine = SimulatedMachine(random: SplitMix64(seed: 2), noise: 0.01)
    let base = machine.run([("a", 10), ("gone", 10)], sessions: 8)
    let slow = machine.run([("a", 20)], sessions: 8)
    let xml = JUnitReport.xml(RunComparison(base: (base, "b"), candidate: (slow, "c")), candidate: slow)
    let (isWell, tags) = parsed(xml)
    #expect(isWell && tags["failure"] == 2 && xml.contains("type=\"regression\"") && xml.contains("type=\"missing\""))
  }

  @Test func csvHasALineASample() {
    let lines = CSVReport.text(assembledRun().0).components(separatedBy: "\r\n")
    #expect(lines[0] == "run_id,case_id,side,subject,scenario,session,index,metric,unit,value" && lines.last == "")
    #expect(lines.filter { $0.contains(",e2e_ns,ns,5000000") && !$0.contains(",median,") }.count == 12)
    #expect(lines.contains { $0.contains("\"sd_15/<it's> \"\"x\"\" & 100 % 日本語\"") })
  }

  @Test func theTraceHasSpansAndCounters() throws {
    let (run, events) = assembledRun()
    let text = TraceReport.json(run, journal: events)
    let root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let items = try #require(root["traceEvents"] as? [[String: Any]])
    let spans = items.filter { $0["ph"] as? String == "X" }
    #expect(spans.filter { $0["cat"] as? String == "request" }.count == 12)
    #expect(
      spans.filter { $0["name"] as? String == "step 1" }.count == 12
        && spans.filter { $0["name"] as? String == "unet" }.count == 12)
    #expect(items.filter { $0["ph"] as? String == "C" }.count == 12)
    let processes = Set(items.compactMap { $0["pid"] as? Int })
    #expect(processes.count == 4, "a process a session of a case")
    // Sessions follow each other, and children lie within their requests.
    for span in spans where span["cat"] as? String == "stage" {
      let start = try #require(span["ts"] as? Double)
      let length = try #require(span["dur"] as? Double)
      #expect(
        spans.contains { other in
          other["cat"] as? String == "request" && other["pid"] as? Int == span["pid"] as? Int
            && (other["ts"] as? Double ?? .infinity) <= start + 1e-6
            && (other["ts"] as? Double ?? 0) + (other["dur"] as? Double ?? 0) >= start + length - 1e-6
        })
    }
  }

  @Test func otherToolsGetTheirShapes() throws {
    let (run, _) = assembledRun()
    func json(_ text: String) throws -> Any { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    let smaller = try #require(try json(ForeignFormats.githubActionBenchmark(run, polarity: .lower)) as? [[String: Any]])
    #expect(!smaller.isEmpty && smaller.allSatisfy { $0["name"] is String && $0["unit"] is String && $0["value"] is Double })
    #expect(!smaller.contains { ($0["name"] as? String)?.contains("sd_15") == true }, "a wrong case has no numbers")
    #expect((try json(ForeignFormats.githubActionBenchmark(run, polarity: .higher)) as? [Any])?.isEmpty == true)
    let bmf = try #require(try json(ForeignFormats.bmf(run)) as? [String: [String: [String: Double]]])
    #expect(bmf.keys.sorted() == ["m/a/real"] && bmf["m/a/real"]?["e2e_ns"]?["value"] == 5e6)
    let hyperfine = try #require((try json(ForeignFormats.hyperfine(run)) as? [String: [[String: Any]]])?["results"])
    #expect(
      hyperfine.count == 1 && (hyperfine[0]["times"] as? [Double])?.count == 6 && hyperfine[0]["median"] as? Double == 0.005)
    let google = try #require(try json(ForeignFormats.googleBenchmark(run)) as? [String: Any])
    #expect((google["context"] as? [String: Any])?["json_schema_version"] as? Int == 1)
    let rows = try #require(google["benchmarks"] as? [[String: Any]])
    #expect(rows.contains { $0["run_type"] as? String == "aggregate" } && rows.contains { $0["error_occurred"] as? Bool == true })
  }

  @Test func thePageNeedsNothingElse() {
    var (run, _) = assembledRun()
    run.faults = ["wrong:groupnorm"]
    let pixel = Data([0x89, 0x50, 0x4e, 0x47])
    let page = HTMLReport(
      run, thumbnail: { $0 == "images/0.png" ? pixel : nil },
      pair: { _, name in
        name == "images/1.png" ? .init(candidate: pixel, base: pixel, difference: pixel, text: "PSNR 40 dB") : nil
      }
    ).page
    #expect(page.contains("FAULT INJECTED: wrong:groupnorm") && page.contains("prefers-color-scheme:dark"))
    #expect(page.contains("<svg") && page.contains("data:image/png;base64,") && page.contains("PSNR 40 dB"))
    #expect(
      !page.contains("<script") && !page.contains("http://") && !page.contains("https://") && !page.contains(" src=\"images"))
    #expect(page.contains("sd_15/&lt;it&#39;s&gt; &quot;x&quot; &amp; 100 % 日本語"))
    #expect(page.contains("INVALID: wrong results") && page.contains("Largest reading: 3.00 MiB in"))
  }

  @Test func markdownStaysBelowTheLimitOfASummary() {
    var (run, _) = assembledRun()
    let text = MarkdownReport.text(run)
    #expect(text.contains("### genbench: 2 cases: 1 not judged, 1 INVALID: wrong results") && text.contains("<details>"))
    run.cases = (0..<1500).map { number in
      var copy = run.cases[0]
      copy.caseID = "case-\(number)"
      copy.sessions = []
      return copy
    }
    let long = MarkdownReport.text(run)
    #expect(long.utf8.count < 1_048_576 && long.contains("are left out"))
  }

  @Test func memoryIsAttributedToAStage() throws {
    let session = try #require(assembledRun().0.cases[0].sessions.first)
    let memory = try #require(session.memory)
    let peak = try #require(memory.peak(in: session.samples))
    #expect(peak.bytes == 3 << 20 && peak.stage == "step 1", "at 20 ms the third request begins, whose first stage is a step")
  }

  @Test func aSlowDownOverMinutesHasAnOnset() throws {
    // 20 s a request: five minutes steady, then a third slower.
    var start: UInt64 = 0
    let requests = (0..<40).map { index -> (startNs: UInt64, ns: UInt64) in
      let ns: UInt64 = (index < 15 ? 20_000_000_000 : 27_000_000_000) + UInt64(index % 3) * 100_000_000
      defer { start += ns }
      return (startNs: start, ns: ns)
    }
    let record = try #require(SustainedRecord(requests))
    #expect(record.onsetNs == requests[15].startNs && abs((record.slowdown ?? 0) - 0.35) < 0.02)
    #expect(record.minuteMediansNs.count > 14 && record.minuteMediansNs[0] != nil)
    let steady = try #require(SustainedRecord(requests.prefix(15).map { $0 }))
    #expect(steady.onsetNs == nil && abs(steady.slowdown ?? 1) < 0.02)
    #expect(SustainedRecord([(startNs: 0, ns: 1)]) == nil)
  }

  /// Each schema is JSON, and what the program writes has the keys that it demands.

  @Test func schemasAreNamed() throws {
    for name in SchemaName.allCases {
      let root = try #require(try JSONSerialization.jsonObject(with: Data(name.text.utf8)) as? [String: Any])
      #expect(root["$id"] as? String == "genbench.\(name.rawValue)/1" && root["properties"] is [String: Any])
    }
  }
}

@Suite struct FigureTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isInstalled = Gnuplot.executable(environment: environment) != nil

  /// Cases over steps, sizes and threads, with names that break naive scripts.
  static func sweep() -> RunDocument {
    var run = emptyRun()
    run.environment.probe = .init(gigaflopsF32: 180, memoryGigabytesPerSecond: 20)
    for (steps, side, threads) in [(4, 64, 1), (8, 64, 1), (16, 64, 1), (8, 64, 2), (8, 128, 1)] {
      var runCase = RunCase(
        caseID: "sd_15's \"x\" 日本/\(side)/\(steps)/\(threads)", subject: "s",
        parameters: .init(steps: steps, width: side, height: side, scheduler: "ddim", engine: .init(threads: threads)))
      let ms = Double(steps * side * side) / 4096 / Double(threads)
      let values = (0..<6).map { ms * 1e6 * (1 + 0.02 * Double($0)) }
      runCase.metrics = [
        .init(.of(.endToEnd), sessions: values.map { [$0] }),
        .init(.stepPart(.unet), sessions: [[1e6]]),
        .init(.stage(.vaeDecode), sessions: [[4e6]]),
      ]
      runCase.work = ["unet": .init(flop: 4e7, bytes: 2e6), "vae_decode": .init(flop: 3e8, bytes: 3e7)]
      runCase.sustained = SustainedRecord(
        (0..<30).map { (startNs: UInt64($0) * 20_000_000_000, ns: $0 < 12 ? 20_000_000_000 : 29_000_000_000) })
      runCase.status = .pass
      run.cases.append(runCase)
    }
    return run
  }

  static func trends() -> [HistoryTrend] {
    ["sd_15's \"x\" 日本", "b"].enumerated().map { index, name in
      var trend = HistoryTrend(
        caseID: name, metric: .endToEnd, unit: .nanoseconds, isLowerBetter: true, machine: "m", build: "release")
      trend.points = (0..<24).map { run in
        let level = (run < 14 ? 50e6 : 58e6) * Double(index + 1)
        var point = HistoryTrend.Point(
          createdAt: "2026-01-\(run + 1)", runID: "r\(run)", median: level * (1 + 0.004 * Double(run % 3)))
        point.low = point.median * 0.97
        point.high = point.median * 1.03
        point.commit = "commit\(run)"
        return point
      }
      trend.findChanges()
      return trend
    }
  }

  static func all() -> [(PlotKind, Gnuplot.Figure?)] {
    let run = sweep()
    return [
      (.latency, SweepFigures.latency([run], axis: .steps)), (.latency, SweepFigures.latency([run], axis: .size)),
      (.scaling, SweepFigures.scaling([run])), (.sustained, SweepFigures.sustained([run])),
      (.roofline, ComparisonFigures.roofline(run)),
      (.compare, ComparisonFigures.compare(run, run, names: ("it's_a", "b \"2\""))), (.trend, ComparisonFigures.trend(trends())),
      (.steps, RunFigures.stepTimes(sampleRun())), (.memory, RunFigures.memory(sampleRun())),
    ]
  }

  @Test(.enabled(if: isInstalled, "gnuplot isn't installed")) func everyKindIsDrawn() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-figures-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let figures = Self.all()
    #expect(Set(figures.map(\.0)) == Set(PlotKind.allCases))
    for (kind, figure) in figures {
      let figure = try #require(figure, "\(kind)")
      #expect(try Gnuplot.draw(figure, in: folder, environment: Self.environment) == .drawn, "\(kind)")
      #expect(try Data(contentsOf: folder.appendingPathComponent(figure.name + ".png")).count > 4000)
      if [.latency, .compare, .trend].contains(kind) {
        let svg = String(decoding: try Data(contentsOf: folder.appendingPathComponent(figure.name + ".svg")), as: UTF8.self)
        #expect(svg.contains("日本"), "\(kind)")
      }
    }
  }

  @Test(.enabled(if: isInstalled, "gnuplot isn't installed")) func aTerminalGetsCharacters() throws {
    let figure = try #require(SweepFigures.latency([Self.sweep()], axis: .steps))
    let text = try #require(Gnuplot.dumb(figure, columns: 80, rows: 24, environment: Self.environment))
    #expect(text.contains("denoising steps") && text.split(separator: "\n").allSatisfy { $0.count <= 82 })
    #expect(Gnuplot.dumb(figure, columns: 80, rows: 24, environment: [:]) == nil)
  }

  @Test func settingsThatDoNotVaryHaveNoCurve() {
    var run = Self.sweep()
    #expect(SweepFigures.bestAxis([run]) == .steps)
    run.cases = [run.cases[0]]
    #expect(
      SweepFigures.bestAxis([run]) == nil && SweepFigures.scaling([run]) == nil && SweepFigures.latency([run], axis: .size) == nil
    )
    run.environment.probe = nil
    #expect(ComparisonFigures.roofline(run) == nil && ComparisonFigures.trend([]) == nil)
    #expect(ComparisonFigures.compare(run, emptyRun(), names: ("a", "b")) == nil)
  }

  @Test func theRooflineHasWhatStagesReach() throws {
    let data = try #require(ComparisonFigures.roofline(Self.sweep())).data
    // Two guidance halves of 4e7 operations in 1 ms are 80 GFLOP/s at 20 operations a byte.
    #expect(data.contains("20 80 \"unet\"") && data.contains("10 75 \"vae_decode\""))
  }

  @Test func scalingIsRelativeToTheFewestThreads() throws {
    let data = try #require(SweepFigures.scaling([Self.sweep()])).data
    #expect(data.contains("\n1 1 ") && data.contains("\n2 2 "))
  }
}
