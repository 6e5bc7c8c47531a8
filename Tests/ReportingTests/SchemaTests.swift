import Foundation
import GenBackend
import Tensors
import TestSupport
import Testing

@testable import Measurement
@testable import Reporting

/// The schemas say what the types write, key by key and in both directions.
@Suite struct SchemaTests {
  /// Checks documents, and that they have a value for each property that the schema names.
  private func agree(
    _ name: SchemaName, _ documents: [Data], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var checker = try JSONSchemaChecker(schema: name.text)
    for document in documents { try checker.check(document) }
    #expect(checker.faults.isEmpty, "\(name): \(checker.faults.prefix(5))", sourceLocation: sourceLocation)
    let unmet = checker.properties.subtracting(checker.met)
    #expect(unmet.isEmpty, "\(name): nothing writes \(unmet.sorted())", sourceLocation: sourceLocation)
    #expect(!checker.met.isEmpty, sourceLocation: sourceLocation)
  }

  private var environment: EnvironmentRecord {
    var environment = EnvironmentRecord(
      machineID: "m", machineName: "n", os: .init(name: "Linux", kernel: "6"),
      cpu: .init(
        model: "c", arch: "x86_64", vendor: "v", logical: 2, physical: 1, features: ["avx2"],
        caches: [.init(level: 1, type: "Data", bytes: 1)], governor: "performance", freqMinHz: 1, freqMaxHz: 2, boost: true,
        smt: false),
      memory: .init(totalBytes: 1, pageBytes: 4096, thp: "always"),
      container: .init(cgroupVersion: 2, cpuQuota: 1.5, memoryLimitBytes: 1, cpusAllowed: 2), virtual: true, aslr: 2)
    environment.probe = .init(gigaflopsF32: 100, memoryGigabytesPerSecond: 10)
    return environment
  }

  private var condition: Conditions {
    Conditions(
      loadAverage1: 1, psiCPUSomeAvg10: 2, psiMemorySomeAvg10: 3, stealTicks: 4, totalTicks: 5, frequencyHz: 6, availableBytes: 7,
      temperatureCelsius: 8, throttleCount: 9, isOnBattery: false)
  }

  /// A run in which everything that may be absent is there.
  private var run: RunDocument {
    get throws {
      var run = RunDocument(
        runID: "01900000-0000-7000-8000-000000000000", createdAt: "2026-01-02T03:04:05.678Z",
        tool: .init(
          name: "genbench", version: "1", commit: "abc", dirty: false, build: .init(config: "release", swiftVersion: "6.3")),
        command: ["genbench", "run"], config: ["a": "b"], labels: ["c": "d"], environment: environment)
      run.planHash = String(repeating: "0", count: 32)
      run.shard = .init(index: 1, count: 2)
      run.parents = [.init(runID: "p", shard: .init(index: 2, count: 2), environment: environment)]
      run.faults = ["slow"]
      run.warnings = ["warm"]
      run.exit = .init(code: 7, reason: "r")
      run.subjects = [subject]
      var runCase = RunCase(caseID: "c", side: "a", subject: "s", scenario: .sustained, parameters: parameters)
      runCase.status = .invalid
      runCase.statusReason = "wrong"
      runCase.conformance = .init(.fail, policy: "golden:x", detail: "off")
      runCase.machineID = "m"
      runCase.work = ["unet": StageWork(flop: 1, bytes: 2)]
      runCase.sustained = SustainedRecord((0..<40).map { (startNs: UInt64($0) * 3_000_000_000, ns: $0 < 20 ? 1000 : 2000) })
      runCase.sessions = [session]
      runCase.metrics = MetricDefinition.metrics(of: [session, session, session, session, session])
      runCase.artifacts = ["images/a.png"]
      run.cases = [runCase]
      return run
    }
  }

  private var subject: RunSubject {
    RunSubject(
      id: "s", backend: .init(kind: "ref", name: "reference", version: "1", capabilities: ["trace"], details: ["threads": "2"]),
      model: .init(family: "sd15", name: "m", params: 1, bytes: 2, precision: "f32"), settings: ["reduce_memory": "false"])
  }

  private var parameters: RunCase.Parameters {
    .init(
      steps: 1, width: 8, height: 8, guidance: 7.5, scheduler: "ddim", seed: 1, batch: 1, maxTokens: 1,
      engine: .init(precision: .f32, threads: 2, kernels: .fast, reducesMemory: true))
  }

  private var conditions: RunSession.ConditionsPair {
    var pair = RunSession.ConditionsPair(start: condition, end: condition)
    pair.stealPercent = 1
    return pair
  }

  private var memory: RunSession.MemoryTimeline {
    .init(
      [
        .init(timeNs: 1, reading: MemoryReading(residentBytes: 1, anonymousBytes: 2, mappedBytes: 3))
      ], startNs: 0)
  }

  private var sample: RunSession.Sample {
    let events: [GenerationEvent] = [
      .began(.step, index: 0, timeNs: 1), .began(.unet, index: 0, timeNs: 1), .ended(.unet, index: 0, timeNs: 3),
      .ended(.step, index: 0, timeNs: 4),
    ]
    var sample = RunSession.Sample(
      index: 0, prompt: "p", repetition: 0, seed: 1, startNs: 0, budget: TimeBudget(events: events, startNs: 0, endNs: 5),
      safety: "passed", image: "images/a.png")
    sample.idleNs = 1
    sample.loadNs = 1
    sample.cancelNs = 1
    let result = TextResult(
      text: "t", ids: [1, 2], promptIDs: [1], finishReason: .stop, timeToFirstTokenNs: 1, totalNs: 2, prefillTokensPerSecond: 1,
      decodeTokensPerSecond: 2)
    let tokens: [GenerationEvent] = [.token(id: 1, text: "a", timeNs: 1), .token(id: 2, text: "b", timeNs: 2)]
    sample.text = .init(result, times: TokenTimes(events: tokens, startNs: 0))
    return sample
  }

  private var session: RunSession {
    var session = RunSession(session: 0, order: 0, pid: 1, startedAt: "2026-01-02T03:04:05.678Z", loadNs: 1)
    session.warmupNs = [1]
    session.samples = [sample, sample]
    session.memory = memory
    session.peakBytes = 2
    session.baselineBytes = 1
    session.overheadNs = 1
    session.conditions = conditions
    return session
  }

  @Test func runs() throws {
    try agree(
      .run, [Data(try run.json().utf8), try Data(contentsOf: Fixtures.folder.appendingPathComponent("runs/0.1.0/run.json"))])
  }

  /// Every kind of line; each `case` here is one that the compiler asks for when a kind is added.
  @Test func lines() throws {
    let process = JournalEvent.Process(session: 0, subject: 0, order: 1)
    var end = JournalEvent.CaseEnd(.error, reason: "r")
    end.memory = memory
    end.peakBytes = 1
    end.conditions = conditions
    let spans = JournalEvent.Spans(
      [StageSpan(stage: .step, index: 0, startNs: 1, endNs: 2, depth: 0, isOpen: false)], sessionStartNs: 0)
    let ofCase: [JournalEvent.CaseEvent] = [
      .gate(.init(.pass, policy: "p", detail: "d")),
      .start(caseID: "c", parameters: parameters, loadNs: 1, baselineBytes: 2, overheadNs: 3), .warmup(ns: 1),
      .sample(sample, spans, artifacts: ["a"]), .warning("w"), .end(end),
    ]
    let ofSession: [JournalEvent.SessionEvent] =
      [.start(pid: 1, at: "2026-01-02T03:04:05Z"), .loaded(subject, ns: 1), .beat, .end] + ofCase.map { .ofCase("k", $0) }
    let contents: [JournalEvent.Content] =
      [
        .runStart(
          runID: "i", at: "2026-01-02T03:04:05Z", planHash: String(repeating: "0", count: 32), shard: .init(index: 1, count: 2)),
        .runEnd(.init(code: 0, reason: "r")),
      ] + ofSession.map { .session(process, $0) }
    let events = contents.map { JournalEvent($0, tNs: 1) }
    for event in events {
      #expect(try JSONDecoder().decode(JournalEvent.self, from: Journal.line(event)) == event)
    }
    let stored = try Data(contentsOf: Fixtures.folder.appendingPathComponent("runs/0.1.0/journal.jsonl"))
    try agree(.event, try events.map { try Journal.line($0) } + stored.split(separator: UInt8(ascii: "\n")).map { Data($0) })
    // No kind is left out above.
    let schema = try JSONSerialization.jsonObject(with: Data(SchemaName.event.text.utf8)) as? [String: Any]
    let kinds = ((schema?["properties"] as? [String: Any])?["type"] as? [String: Any])?["enum"] as? [String]
    let written = try events.map { try JSONSerialization.jsonObject(with: Journal.line($0)) as? [String: Any] }
    #expect(Set(written.compactMap { $0?["type"] as? String }) == Set(try #require(kinds)))
  }

  @Test func plans() throws {
    var plan = RunPlan()
    plan.sides = [.init(name: "a", executable: "/x", environment: ["A": "b"])]
    var subject = RunPlan.Subject(name: "m", path: "/m")
    subject.projector = "/p"
    subject.variant = "sd15"
    subject.kernels = .fast
    subject.threads = 1
    subject.side = 0
    plan.subjects = [subject]
    var planned = RunPlan.Case(key: "k", subject: 0)
    planned.steps = 1
    (planned.width, planned.height) = (8, 8)
    planned.scheduler = SchedulerName(.ddim)
    planned.guidance = 1
    planned.maxTokens = 1
    planned.settings.eta = 0.5
    plan.cases = [planned]
    plan.effort.untilInterval = 0.1
    plan.prompts = ["p"]
    plan.questions = ["q"]
    plan.negativePrompt = "n"
    plan.image = "/i"
    try agree(
      .plan, [try plan.json(), try Data(contentsOf: Fixtures.folder.appendingPathComponent("runs/0.1.0/plan.json"))])
  }

  @Test func comparisonsAndNoise() throws {
    var machine = SimulatedMachine(random: SplitMix64(seed: 2), noise: 0.01)
    var base = machine.run([("a", 10), ("gone", 10)], sessions: 8)
    base.faults = ["slow"]
    var slow = machine.run([("a", 20), ("new", 1)], sessions: 8)
    slow.environment.cpu.governor = "powersave"
    for index in slow.cases.indices {
      slow.cases[index].metrics.append(.init(.of(.firstStep), sessions: (0..<8).map { [Double($0)] }))
    }
    base.cases[0].metrics.append(.init(.of(.firstStep), sessions: (0..<8).map { [Double($0 + 1)] }))
    let comparison = RunComparison(
      base: (base, "b"), candidate: (slow, "c"), policy: ComparisonPolicy(ignoresEnvironment: true))
    #expect(!comparison.informative.isEmpty && !comparison.environment.isEmpty)
    try agree(.comparison, [Data(try comparison.json().utf8)])
    var ledger = NoiseLedger(machineID: "m", cpu: "c")
    ledger.learn(machine.run([("a", 10)], sessions: 8), machine.run([("a", 10)], sessions: 8))
    #expect(!ledger.entries.isEmpty)
    try agree(.noise, [try JSONEncoder().encode(ledger)])
  }

  /// What the schemas list, the types have, and the other way round.
  @Test func enumerationsAreTheTypes() throws {
    func values(_ name: SchemaName, _ path: [String]) throws -> Set<String> {
      var value = try JSONSerialization.jsonObject(with: Data(name.text.utf8))
      for key in path { value = try #require((value as? [String: Any])?[key], "\(path)") }
      return Set(try #require(value as? [Any]).compactMap { $0 as? String })
    }
    func names<Value: CaseIterable & RawRepresentable>(_ type: Value.Type) -> Set<String> where Value.RawValue == String {
      Set(type.allCases.map(\.rawValue))
    }
    let ofCase = ["$defs", "case", "properties"]
    let ofMetric = ["$defs", "metric", "properties"]
    #expect(try values(.run, ofCase + ["scenario", "enum"]) == names(Scenario.self))
    #expect(try values(.run, ["$defs", "status", "enum"]) == names(RunCase.Status.self))
    #expect(try values(.run, ofMetric + ["unit", "enum"]) == names(MetricUnit.self))
    #expect(try values(.run, ofMetric + ["polarity", "enum"]) == names(RunCase.Metric.Polarity.self))
    #expect(try values(.run, ofMetric + ["scope", "enum"]) == names(RunCase.Metric.Scope.self))
    #expect(try values(.plan, ["properties", "gate", "enum"]) == names(Gate.self))
    #expect(try values(.plan, ["properties", "interleaving", "enum"]) == names(RunPlan.Interleaving.self))
    #expect(try values(.comparison, ["$defs", "row", "properties", "verdict", "enum"]) == names(Verdict.self))
  }

  /// The check itself sees what is missing, unknown, of another type, or never written.
  @Test(
    arguments: [
      (#"{"a": 1}"#, "b is missing"), (#"{"a": 1, "b": [true], "c": 0}"#, "c isn't in the schema"),
      (#"{"a": "x", "b": []}"#, "isn't [\"integer\"]"),
      (#"{"a": -1, "b": []}"#, "< 0"), (#"{"a": 1, "b": [2]}"#, "isn't [\"boolean\"]"),
      (#"{"a": 1.5, "b": []}"#, "isn't [\"integer\"]"),
    ])
  func theCheckSees(document: String, fault: String) throws {
    let schema = """
      {"type": "object", "required": ["a", "b"],
       "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": "array", "items": {"$ref": "#/$defs/flag"}}},
       "$defs": {"flag": {"type": "boolean"}}}
      """
    var checker = try JSONSchemaChecker(schema: schema)
    try checker.check(Data(document.utf8))
    #expect(checker.faults.count == 1 && checker.faults[0].contains(fault), "\(checker.faults)")
    #expect(checker.properties == ["#/a", "#/b"])
  }
}
