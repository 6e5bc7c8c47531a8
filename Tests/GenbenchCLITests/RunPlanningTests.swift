import Foundation
import GenBackend
import Measurement
import Reporting
import TestSupport
import Testing

@testable import GenbenchCLI

@Suite struct RunSweepTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func run(_ words: String..., backend: ScriptedBackend = ScriptedBackend()) async throws -> (
    CommandLineResult, RunDocument
  ) {
    let result = await genbench(["run", "--no-plots", "--out", folder.path("out")] + words, backend: backend)
    let data = try Data(contentsOf: URL(fileURLWithPath: folder.path("out/run.json")))
    return (result, try RunDocument(json: data))
  }

  @Test func sessionsAreTheUnit() async throws {
    let (result, run) = try await run(
      "--variant", "sd15", "--prompts", "2", "--sessions", "3", "--repetitions", "2", "--warmup", "0")
    #expect(result.status == .success, "\(result.err)")
    let runCase = try #require(run.cases.first)
    #expect(runCase.sessions.map(\.session) == [0, 1, 2] && runCase.sessions.allSatisfy { $0.samples.count == 4 })
    #expect(runCase.metric(.endToEnd)?.sessionMedians.count == 3 && runCase.summary(.endToEnd)?.n == 12)
    #expect(runCase.artifacts.count == 2, "an image a prompt")
    #expect(runCase.sessions[0].samples[0].idleNs == nil && runCase.sessions[0].samples[1].idleNs != nil)
  }

  @Test func settingsThatAreSweptAreInTheID() async throws {
    let (_, run) = try await run("--variant", "sd15", "--prompts", "1", "--warmup", "0", "--threads", "1,2", "--steps", "1-4*2")
    #expect(
      run.cases.map(\.caseID) == [
        "sd15/16x8/pndm/1+threads=1", "sd15/16x8/pndm/2+threads=1", "sd15/16x8/pndm/4+threads=1", "sd15/16x8/pndm/1+threads=2",
        "sd15/16x8/pndm/2+threads=2", "sd15/16x8/pndm/4+threads=2",
      ])
    #expect(run.subjects.count == 2 && Set(run.subjects.map(\.id)).count == 2)
  }

  @Test func sidesShareTheirIDs() async throws {
    let (result, run) = try await run(
      "--variant", "sd15", "--prompts", "1", "--warmup", "0", "--sessions", "2", "--side", "one:threads=1", "--side",
      "two:threads=2")
    #expect(run.sides == ["one", "two"] && Set(run.cases.map(\.caseID)).count == 1)
    #expect(
      run.cases.flatMap { runCase in runCase.sessions.map { "\(runCase.side ?? "")\($0.order)" } } == [
        "one0", "one3", "two1", "two2",
      ])
    #expect(result.out.contains("against one") && run.side("two").cases.count == 1)
    #expect(
      run.cases.map { $0.artifacts.first ?? "" }
        == ["one", "two"].map { "images/\($0)/sd15/00-a-large-red-circle-on-a-blue.png" })
    let compared = await genbench("compare", folder.path("out"))
    #expect(compared.status == .success && compared.out.contains("#two"))
  }

  @Test func textModelsHaveTheirStages() async throws {
    let (result, run) = try await run("--variant", "smolvlm", "--prompts", "3", "--max-tokens", "8,16")
    #expect(result.status == .success, "\(result.err)")
    #expect(run.cases.map(\.caseID) == ["smolvlm/text/8", "smolvlm/text/16"])
    let runCase = run.cases[0]
    let names: [MetricName] = [
      .timeToFirstToken, .token, .stage(.prefill), .stage(.decode), .prefillRate, .decodeRate, .stage(.tokenize),
    ]
    for name in names {
      #expect(runCase.metric(name) != nil, "\(name)")
    }
    #expect(runCase.metric(.decodeRate)?.polarity == .higher && runCase.parameters.maxTokens == 8)
    let sample = try #require(runCase.sessions[0].samples.first)
    #expect(sample.text?.tokensNs.count == 4 && sample.text?.answer == "ttttt" && sample.image == nil)
    #expect(sample.stagesNs.values.reduce(0, +) + sample.unaccountedNs == sample.e2eNs)
    #expect(result.out.contains("first token") && result.out.contains("50.0 tok/s"))
  }

  @Test func scenariosMeasureWhatTheySay() async throws {
    let backend = ScriptedBackend()
    let (result, run) = try await run(
      "--variant", "sd15", "--prompts", "2", "--sessions", "2", "--scenario", "single,offline,cold,warm,cancel", "--batch", "3",
      "--warmup", "1", "--steps", "3", backend: backend)
    #expect(result.status == .success, "\(result.err)")
    let cases = Dictionary(uniqueKeysWithValues: run.cases.map { ($0.scenario, $0) })
    #expect(Set(cases.keys) == [.single, .offline, .cold, .warm, .cancel])
    #expect(cases[.offline]?.metric(.imagesPerSecond)?.polarity == .higher)
    #expect(cases[.offline]?.sessions[0].samples[0].images == 3)
    #expect(cases[.cold]?.sessions.map(\.samples.count) == [1, 1] && cases[.cold]?.sessions[0].warmupNs == [])
    #expect(cases[.cold]?.metric(.loadCold)?.polarity == .lower && cases[.cold]?.summary(.loadCold)?.n == 2)
    #expect(cases[.warm]?.summary(.loadWarm)?.n == 4 && cases[.warm]?.metric(.endToEnd) == nil)
    #expect(cases[.cancel]?.metric(.endToEnd) == nil && cases[.cancel]?.status == .pass)
    #expect(cases[.offline]?.caseID == "sd15/16x8/pndm/3/offline")
  }

  @Test func repetitionsGoOnForTheTimeAsked() async throws {
    let (_, run) = try await run("--variant", "sd15", "--prompts", "1", "--warmup", "0", "--min-time", "7x")
    #expect(run.cases[0].sessions[0].samples.count == 7)
  }

  @Test func repetitionsStopAtTheirLimit() async throws {
    let (_, run) = try await run(
      "--variant", "sd15", "--prompts", "1", "--warmup", "0", "--until-ci", "0.0001%", "--max-repetitions", "9")
    #expect(run.cases[0].sessions[0].samples.count == 9)
  }

  @Test func theNullBackendNeedsNoFiles() async throws {
    let model = folder.path("model")
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    let result = await genbench(
      ["run", "--no-plots", "--out", folder.path("out"), "--model", model, "--backend", "null", "--prompts", "1"], backend: nil)
    #expect(result.status == .success, "\(result.err)")
    #expect(result.out.contains("The harness itself costs"))
  }

  /// Engines that are named together are measured in turns, in one table.
  @Test func severalEnginesAreSides() async throws {
    let (result, run) = try await run(
      "--variant", "sd15", "--prompts", "1", "--backend", "ref,null,proc:python3 x/engine.py --a b")
    #expect(result.status == .success, "\(result.err)")
    #expect(run.sides == ["ref", "null", "engine"] && Set(run.cases.map(\.key)).count == 1)
    #expect(run.cases.map(\.side) == ["ref", "null", "engine"])
    #expect(run.subjects.map(\.backend.kind) == ["ref", "null", "proc"])
    for words in [["--backend", "ref,cloud"], ["--backend", "ref,null", "--side", "a:threads=1", "--side", "b:threads=2"]] {
      let refused = await genbench(["run", "--variant", "sd15", "--out", folder.path("other")] + words)
      #expect(refused.status.code == 64, "\(refused.err)")
    }
  }

  @Test func aSuiteIsAFileOfAllThat() async throws {
    let suite = folder.path("suite.json")
    try Data(
      """
      // What we measure.
      {"schema": "genbench.suite/1", "name": "ours", "defaults": {"prompts": 1, "warmup": 0, "sessions": 2},
       "matrix": {"variant": ["sd15", "sdxl"], "steps": [2, 3]}, "exclude": [{"variant": "sdxl", "steps": 3}],
       "include": [{"variant": "sd20", "steps": 5}]}
      """.utf8
    ).write(to: URL(fileURLWithPath: suite))
    let (result, run) = try await run("--suite", suite, "--sessions", "1")
    #expect(result.status == .success, "\(result.err)")
    #expect(run.cases.map(\.caseID) == ["sd15/16x8/pndm/2", "sd15/16x8/pndm/3", "sdxl/16x8/pndm/2", "sd20/16x8/pndm/5"])
    #expect(run.cases[0].sessions.count == 1 && run.cases[0].sessions[0].warmupNs.isEmpty, "the command line wins")
  }

  @Test(arguments: [
    ("[]", "JSON object"), ("{}", "schema"), (#"{"schema": "genbench.suite/1", "matrx": {}}"#, "matrx"),
    (#"{"schema": "genbench.suite/1", "matrix": {"colour": ["red"]}}"#, "colour"),
    (#"{"schema": "genbench.suite/1", "matrix": {"steps": []}}"#, "at least one"),
    (#"{"schema": "genbench.suite/1", "matrix": {"steps": [[1]]}}"#, "matrix.steps"),
    (#"{"schema": "genbench.suite/1", "defaults": {"speed": 1}}"#, "speed"),
    (#"{"schema": "genbench.suite/1", "cases": [{}]}"#, "cases[0]"),
    (#"{"schema": "genbench.suite/1", "cases": [{"variant": "sd99"}]}"#, "sd99"),
  ])
  func aDamagedSuiteIsRefused(text: String, word: String) async throws {
    let suite = folder.path("suite.json")
    try Data(text.utf8).write(to: URL(fileURLWithPath: suite))
    let result = await genbench(["run", "--out", folder.path("out"), "--suite", suite])
    #expect(result.status.code == 65 && result.lastErrorLine.contains(word), "\(result.err)")
  }

  /// Everything in a plan is looked at before the first session, and a dry run looks as hard as a real one.
  @Test(
    arguments: [
      (["--scheduler", "eulerr"], "eulerr"), (["--scheduler", "ddim,dpm9"], "dpm9"), (["--param", "scheduler=eulerr"], "eulerr"),
      (["--include", "variant=sd15,scheduler=eulerr"], "eulerr"), (["--exclude", "scheduler=eulerr"], "eulerr"),
      (["--side", "a:threads=1", "--side", "b:kernels=slow"], "slow"), (["--size", "501x512"], "multiples of"),
      (["--param", "size=20"], "multiples of"), (["--param", "timestep_spacing=trialing"], "trialing"),
      (["--param", "rng=filox"], "filox"), (["--precision", "f16"], "f16"), (["--backend", "ref:threads=0"], "threads=0"),
      (["--suite", "kernels", "--size", "100x100"], "multiples of 64"),
    ], [[], ["--dry-run"]])
  func whatCantBeIsRefusedBeforeALoad(words: ([String], String), more: [String]) async throws {
    let backend = ScriptedBackend()
    let result = await genbench(
      ["run", "--variant", "sd15", "--out", folder.path("out")] + words.0 + more, backend: backend)
    #expect(result.status.code == 64 && result.err.contains(words.1), "\(result.err)")
    #expect(backend.loads.isEmpty && !FileManager.default.fileExists(atPath: folder.path("out")))
  }

  @Test func aDryRunOfTheKernelSuiteMeasuresNothing() async throws {
    let result = await genbench(
      "run", "--suite", "kernels", "--variant", "sd15", "--dry-run", "--out", folder.path("out"))
    #expect(result.status == .success && !FileManager.default.fileExists(atPath: folder.path("out")))
    let lines = result.out.split(separator: "\n")
    #expect(lines.last == "\(lines.count - 1) operators" && lines.contains { $0.hasPrefix("conv2d") }, "\(result.out)")
  }

  @Test func aDryRunShowsTheOrder() async throws {
    let result = await genbench(
      "run", "--variant", "sd15", "--sessions", "2", "--side", "a:threads=1", "--side", "b:threads=2", "--dry-run", "--out",
      folder.path("none"))
    let lines = result.out.split(separator: "\n")
    #expect(
      lines.prefix(4).map { $0.contains("[a]") ? "a" : "b" } == ["a", "b", "b", "a"] && lines.last?.hasPrefix("plan ") == true)
    #expect(!FileManager.default.fileExists(atPath: folder.path("none")))
  }

  @Test func shardsMergeToTheWhole() async throws {
    let words = ["run", "--no-plots", "--variant", "sd15,sd20", "--steps", "1,2,3", "--prompts", "1", "--warmup", "0"]
    let whole = await genbench(words + ["--out", folder.path("whole")])
    for part in 1...2 {
      let result = await genbench(words + ["--shard", "\(part)/2", "--out", folder.path("part\(part)")])
      #expect(result.status == .success, "\(result.err)")
    }
    let hole = await genbench("run", "--no-plots", "--merge", folder.path("part1"), "--out", folder.path("merged"))
    #expect(hole.status.code == 9 && hole.lastErrorLine.contains("2/2"))
    let merged = await genbench(
      "run", "--no-plots", "--merge", folder.path("part1"), "--merge", folder.path("part2"), "--out", folder.path("merged"))
    #expect(merged.status == .success && whole.status == .success, "\(merged.err)")
    func ids(_ name: String) throws -> [String] {
      try RunDocument(json: Data(contentsOf: URL(fileURLWithPath: folder.path(name + "/run.json")))).cases.map(\.caseID).sorted()
    }
    #expect(try ids("merged") == ids("whole") && ids("part1").count == 3)
    let images = try FileManager.default.subpathsOfDirectory(atPath: folder.path("merged/images")).filter { $0.hasSuffix(".png") }
    #expect(images.count == 6)
    let trace = await genbench("report", "trace", folder.path("merged"))
    #expect(trace.status == .success && trace.out.contains("traceEvents"))
  }
}
