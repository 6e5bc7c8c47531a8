import Checkpoints
import Foundation
import GenBackend
import Measurement
import Testing

@testable import Reporting

/// A plan of two cases, three prompts and two sessions, and the events that measuring it tells.
struct JournalScript {
  var plan = RunPlan()
  var events: [JournalEvent] = []

  init(sessions: Int = 2) {
    plan.subjects = [RunPlan.Subject(name: "m", path: "/m")]
    plan.cases = [RunPlan.Case(key: "m/a", subject: 0), RunPlan.Case(key: "m/b", subject: 0)]
    plan.effort = RunPlan.Effort(sessions: sessions, repetitions: 1, warmups: 1)
    plan.prompts = ["p", "q", "r"]
    events.append(
      JournalEvent(.runStart(runID: "id", at: "2026-01-02T03:04:05.000Z", planHash: plan.hash, shard: nil), tNs: 1))
    for session in 0..<sessions {
      let process = JournalEvent.Process(session: session, subject: 0, order: session)
      func add(_ event: JournalEvent.SessionEvent, tNs: UInt64) {
        events.append(JournalEvent(.session(process, event), tNs: tNs))
      }
      add(.start(pid: Int32(100 + session), at: "2026-01-02T03:04:06.000Z"), tNs: 2)
      for key in ["m/a", "m/b"] {
        add(
          .ofCase(
            key,
            .start(
              caseID: key + "/real", parameters: .init(steps: 2, width: 8, height: 8), loadNs: 1000, baselineBytes: nil,
              overheadNs: nil)), tNs: 3)
        add(.ofCase(key, .warmup(ns: 50)), tNs: 4)
        for index in 0..<3 {
          let startNs = UInt64(index) * 10_000_000
          let spans: [GenerationEvent] = [
            .began(.step, index: 0, timeNs: startNs + 1_000_000), .began(.unet, index: 0, timeNs: startNs + 1_000_000),
            .ended(.unet, index: 0, timeNs: startNs + 3_000_000), .ended(.step, index: 0, timeNs: startNs + 4_000_000),
          ]
          let sample = RunSession.Sample(
            index: 0, prompt: plan.prompts[index], repetition: 0, seed: UInt64(index), startNs: startNs,
            budget: TimeBudget(events: spans, startNs: startNs, endNs: startNs + 5_000_000), safety: "unchecked",
            image: "images/\(index).png")
          add(
            .ofCase(
              key,
              .sample(
                sample, JournalEvent.Spans(StageSpan.spans(of: spans, endNs: startNs + 5_000_000), sessionStartNs: 0),
                artifacts: session == 0 ? ["images/\(index).png"] : [])), tNs: 5)
        }
        var end = JournalEvent.CaseEnd(.pass)
        end.peakBytes = 1 << 20
        end.memory = .init(
          (0..<3).map { .init(timeNs: UInt64($0) * 10_000_000, reading: MemoryReading(residentBytes: UInt64(1 + $0) << 20)) },
          startNs: 0)
        add(.ofCase(key, .end(end)), tNs: 6)
      }
    }
  }

  func assembled(_ count: Int? = nil) -> RunAssembler {
    var assembler = RunAssembler(plan: plan)
    for event in events.prefix(count ?? events.count) { assembler.add(event) }
    return assembler
  }
}

@Suite struct JournalTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-journal-\(UUID().uuidString)")
  private var file: URL { folder.appendingPathComponent("journal.jsonl") }

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  private func write(_ events: [JournalEvent]) throws {
    let writer = try JournalWriter(file, keeping: nil)
    for event in events { try writer.append(event) }
  }

  @Test func whatIsWrittenIsRead() throws {
    let script = JournalScript()
    try write(script.events)
    let content = try Journal.read(file)
    #expect(content.events == script.events && !content.isTorn)
    #expect(content.wholeBytes == (try Data(contentsOf: file)).count)
  }

  /// Whatever byte the machine stops at, at most the last line is lost.
  @Test func everyCutIsSurvived() throws {
    let script = JournalScript(sessions: 1)
    try write(script.events)
    let whole = try Data(contentsOf: file)
    for cut in stride(from: 0, through: whole.count, by: 37) {
      try whole.prefix(cut).write(to: file)
      let content = try Journal.read(file)
      let lines = whole.prefix(cut).filter { $0 == UInt8(ascii: "\n") }.count
      #expect(content.events == Array(script.events.prefix(lines)), "cut at \(cut)")
      #expect(content.isTorn == (cut > content.wholeBytes))
    }
  }

  @Test func aJournalGoesOnBehindItsLastWholeLine() throws {
    let script = JournalScript(sessions: 1)
    try write(Array(script.events.prefix(4)))
    let handle = try FileHandle(forWritingTo: file)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(#"{"schema":"genbench.event/1","typ"#.utf8))
    try handle.close()
    let torn = try Journal.read(file)
    #expect(torn.isTorn && torn.events.count == 4)
    let writer = try JournalWriter(file, keeping: torn.wholeBytes)
    for event in script.events.dropFirst(4) { try writer.append(event) }
    #expect(try Journal.read(file).events == script.events)
  }

  @Test func damageInTheMiddleIsRefused() throws {
    let script = JournalScript(sessions: 1)
    try write(script.events)
    var text = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n").map(String.init)
    text[2] = String(text[2].dropLast(5))
    try Data((text.joined(separator: "\n") + "\n").utf8).write(to: file)
    let error = #expect(throws: RunDocumentError.self) { try Journal.read(file) }
    #expect(error?.message.contains(":3:") == true)
    try Data("{\"schema\":\"genbench.event/9\",\"type\":\"beat\",\"t_ns\":1}\n".utf8).write(to: file)
    #expect(throws: RunDocumentError.self) { try Journal.read(file) }
    #expect(throws: RunDocumentError.self) { try Journal.read(folder.appendingPathComponent("nothing")) }
  }

  @Test func twoWritersAreKeptApart() throws {
    let first = try JournalWriter(file, keeping: nil)
    #expect(throws: CheckpointError.self) { try JournalWriter(file, keeping: nil) }
    let error = #expect(throws: CheckpointError.self) { try JournalWriter(file, keeping: 0) }
    #expect(error?.description.contains("another process") == true)
    try first.append(JournalEvent(.session(.init(session: 0, subject: 0, order: 0), .beat), tNs: 1))
  }
}

@Suite struct RunAssemblerTests {
  @Test func casesComeOutOfEvents() throws {
    let script = JournalScript()
    let cases = script.assembled().cases()
    #expect(cases.map(\.caseID) == ["m/a/real", "m/b/real"] && cases.allSatisfy { $0.status == .pass })
    #expect(cases[0].sessions.map(\.pid) == [100, 101] && cases[0].sessions.allSatisfy { $0.samples.map(\.index) == [0, 1, 2] })
    #expect(cases[0].artifacts == ["images/0.png", "images/1.png", "images/2.png"])
    let metric = try #require(cases[0].metric(.endToEnd))
    #expect(metric.summary.n == 6 && metric.sessionMedians == [5e6, 5e6])
    #expect(cases[0].summary(.stepPart(.unet))?.median == 2e6)
    #expect(cases[0].metric(.loadCold)?.polarity == RunCase.Metric.Polarity.none)
  }

  /// Killed anywhere and resumed: what is left to do, then done, gives the same set of cases and samples.
  @Test func whereverItStopsTheRestCompletesIt() {
    let script = JournalScript()
    let whole = script.assembled().cases()
    for stop in 1...script.events.count {
      var assembler = script.assembled(stop)
      // What a resumed run does: skip what is done, go on within what was begun.
      for session in 0..<2 {
        for key in ["m/a", "m/b"] where !assembler.isDone(session: session, subject: 0, key: key) {
          let have = assembler.sampleCount(session: session, subject: 0, key: key)
          for event in script.events {
            guard let (process, itsKey, told) = event.ofCase, process.session == session, itsKey == key else { continue }
            if case .warmup = told { continue }
            if case .sample(let sample, _, _) = told, sample.seed < UInt64(have) { continue }
            assembler.add(event)
          }
        }
      }
      let cases = assembler.cases()
      #expect(cases.map(\.caseID) == whole.map(\.caseID) && cases.map(\.status) == whole.map(\.status), "stopped after \(stop)")
      #expect(
        cases.map { $0.sessions.map { $0.samples.map(\.seed) } } == whole.map { $0.sessions.map { $0.samples.map(\.seed) } })
    }
  }

  @Test func theWorstSessionIsTheCases() {
    let script = JournalScript()
    var assembler = RunAssembler(plan: script.plan)
    for var event in script.events {
      if case .session(let process, .ofCase("m/b", .end)) = event.content, process.session == 1 {
        event.content = .session(process, .ofCase("m/b", .end(.init(.crash, reason: "signal 11"))))
      }
      assembler.add(event)
    }
    let cases = assembler.cases()
    #expect(cases.map(\.status) == [.pass, .crash] && cases[1].statusReason == "signal 11")
    #expect(assembler.isDone(session: 1, subject: 0, key: "m/b"), "a crash isn't tried again")
  }

  @Test func wrongResultsMakeACaseInvalid() {
    let script = JournalScript()
    var assembler = RunAssembler(plan: script.plan)
    let gate = JournalEvent(
      .session(
        .init(session: 0, subject: 0, order: 0), .ofCase("m/a", .gate(.init(.fail, policy: "golden:x", detail: "off")))),
      tNs: 0)
    for event in script.events + [gate] { assembler.add(event) }
    let cases = assembler.cases()
    #expect(cases.map(\.status) == [.invalid, .pass] && cases[0].statusReason == "golden:x: off")
    #expect(assembler.isJudged(subject: 0, key: "m/a") && !assembler.isJudged(subject: 0, key: "m/b"))
  }

  @Test func unmeasuredCasesAreIncomplete() {
    let script = JournalScript()
    #expect(script.assembled(1).cases().map(\.status) == [.incomplete, .incomplete])
    let half = script.assembled(8).cases()
    #expect(half[0].status == .incomplete && half[0].statusReason == "1 of 2 sessions measured")
    #expect(script.assembled().cases(of: ["m/b"]).map(\.key) == ["m/b"])
  }
}

@Suite struct RunPlanTests {
  private var plan: RunPlan {
    var plan = RunPlan()
    plan.sides = [.init(name: "a"), .init(name: "b")]
    for side in 0..<2 {
      var subject = RunPlan.Subject(name: "m", path: "/m")
      subject.side = side
      plan.subjects.append(subject)
      for number in 0..<11 { plan.cases.append(RunPlan.Case(key: "m/\(number)", subject: side)) }
    }
    plan.effort = RunPlan.Effort(sessions: 4)
    return plan
  }

  @Test func jsonRoundTrips() throws {
    let plan = plan
    #expect(try RunPlan(json: plan.json()) == plan)
    #expect(throws: RunDocumentError.self) { try RunPlan(json: Data("{}".utf8)) }
    var broken = plan
    broken.cases[0].subject = 9
    #expect(throws: RunDocumentError.self) { try RunPlan(json: broken.json()) }
  }

  @Test func theHashTellsPlansApartButNotPlaces() {
    var moved = plan
    moved.subjects[0].path = "/elsewhere"
    moved.sides[0].executable = "/other/genbench"
    #expect(moved.hash == plan.hash && plan.hash.count == 32)
    var other = plan
    other.effort.sessions = 5
    #expect(other.hash != plan.hash)
  }

  @Test func shardsPartitionTheKeysEvenly() {
    for count in 1...13 {
      let parts = (1...count).map { plan.keys(ofShard: $0, of: count) }
      #expect(parts.reduce(0) { $0 + $1.count } == 11 && parts.reduce(into: Set()) { $0.formUnion($1) }.count == 11)
      let sizes = parts.map(\.count)
      #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)
    }
    // The order of options doesn't matter.
    var reversed = plan
    reversed.cases.reverse()
    #expect(reversed.keys(ofShard: 2, of: 3) == plan.keys(ofShard: 2, of: 3))
  }

  @Test func bothSidesOfACaseAreInOneShard() {
    let keys = plan.keys(ofShard: 1, of: 4)
    let units = plan.units(of: keys)
    #expect(Set(units.map(\.subject)) == [0, 1] && units.allSatisfy { Set($0.keys) == keys })
  }

  @Test func sidesAreMeasuredInTurns() {
    var plan = plan
    #expect(plan.units().map(\.subject) == [0, 1, 1, 0, 0, 1, 1, 0])
    #expect(plan.units().map(\.session) == [0, 0, 1, 1, 2, 2, 3, 3])
    plan.interleaving = .off
    #expect(plan.units().map(\.subject) == [0, 0, 0, 0, 1, 1, 1, 1])
    plan.interleaving = .random
    let random = plan.units().map(\.subject)
    #expect(random == plan.units().map(\.subject), "the seed decides")
    #expect((0..<4).allSatisfy { Set(random[(2 * $0)..<(2 * $0 + 2)]) == [0, 1] }, "each session has both")
  }
}
