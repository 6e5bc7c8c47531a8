import Checkpoints
import Foundation
import Measurement
import Reporting
import Tensors
import TestSupport
import Testing

@testable import GenbenchCLI

/// `compare`, `baseline`, `calibrate`, `report`, `plot`, `history`, `doctor`, `schema`, `diff`.
@Suite struct HarnessCommandTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private var store: String { folder.path("store") }

  /// A stored run with one case whose sessions took so many ms.
  private func save(_ name: String, _ ms: [Double], status: RunCase.Status = .pass, faults: [String] = []) throws -> String {
    var environment = EnvironmentProbe(root: SystemRoot(path: "/nowhere")).read()
    environment.machineID = "here"
    var random = SystemRandomNumberGenerator()
    var run = RunDocument(
      runID: RunDocument.makeRunID(date: Date(timeIntervalSince1970: 1_700_000_000), using: &random),
      createdAt: "2026-01-02T03:04:05.678Z",
      tool: .init(
        name: "genbench", version: "1", commit: "c-" + name, dirty: false,
        build: BuildRecord(config: "release", swiftVersion: "6")),
      command: ["genbench", "run"], config: [:], environment: environment)
    var runCase = RunCase(caseID: "x", subject: "s", parameters: .init(steps: 2, width: 8, height: 8))
    runCase.metrics = [.init(.of(.endToEnd), sessions: ms.map { [$0 * 1e6] })]
    runCase.status = status
    runCase.statusReason = status == .pass ? nil : "because"
    run.cases = [runCase]
    run.faults = faults
    run.status = .complete
    run.exit = .init(code: 0, reason: nil)
    let path = folder.path(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try AtomicFile.write(run.json(), to: path + "/run.json")
    return path
  }

  private let steady = [100.0, 101, 99, 100, 100.5, 99.5, 100.2, 99.9]

  private func call(_ words: String...) async -> CommandLineResult { await genbench(words + ["--store", store]) }

  @Test func theGateTellsByItsExitCode() async throws {
    let base = try save("base", steady)
    let same = try save("same", steady.reversed())
    let slow = try save("slow", steady.map { $0 * 1.2 })
    let fast = try save("fast", steady.map { $0 * 0.8 })
    let wrong = try save("wrong", steady, status: .invalid)
    let broken = try save("broken", steady, status: .crash)
    for (candidate, code) in [(same, 0), (slow, 2), (fast, 0), (wrong, 7), (broken, 3)] as [(String, Int32)] {
      let result = await call("compare", base, candidate, "--gate")
      #expect(result.status.code == code, "\(candidate): \(result.out) \(result.err)")
      #expect(await call("compare", base, candidate).status.code == 0, "without --gate nothing fails")
    }
    let result = await call("compare", base, slow, "--gate")
    #expect(result.lastErrorLine.contains("exit 2 (regression): 1 regressed: x e2e_ns +20.0 %"))
    #expect(await call("compare", base, fast, "--gate", "--fail-on", "improved").status.code == 2)
    #expect(await call("compare", base, slow, "--gate", "--threshold", "30%").status.code == 0)
    let short = try save("short", [130])
    #expect(await call("compare", base, short, "--gate").status.code == 0)
    #expect(await call("compare", base, short, "--gate", "--fail-on", "inconclusive").status.code == 8)
  }

  @Test func baselinesAreComparedByName() async throws {
    let base = try save("base", steady)
    #expect(await call("compare", "main", base).status.code == 5)
    #expect(await call("baseline", "save", "main", base).status == .success)
    #expect(await call("baseline", "list").out.contains("main"))
    #expect(await call("baseline", "show", "main").out.contains("| x "))
    #expect(await call("compare", "main", base, "--gate").status == .success)
    let json = try await call("compare", "main", base, "--json").json()
    #expect(json["schema"] as? String == "genbench.comparison/1")
    #expect(await call("baseline", "show", "mian").lastErrorLine.contains("Did you mean 'main'?"))
    #expect(await call("baseline", "delete", "main").status == .success)
    #expect(await call("baseline", "delete", "main").status.code == 5)
    #expect(await call("baseline", "save", "a/b", base).status.code == 64)
    #expect(await call("baseline", "save", "x", folder.path("nothing")).status.code == 66)
  }

  @Test func doubtfulRunsAreNoBaselines() async throws {
    let wrong = try save("wrong", steady, status: .invalid)
    let fault = try save("fault", steady, faults: ["slow:conv2d:2ms"])
    #expect(await call("baseline", "save", "x", wrong).status.code == 7)
    let refused = await call("baseline", "save", "x", fault)
    #expect(refused.status.code == 7 && refused.lastErrorLine.contains("slow:conv2d:2ms"))
    #expect(await call("baseline", "save", "x", fault, "--force").status == .success)
    #expect(await call("history", "import", fault).status.code == 7)
  }

  @Test func reportsAreWrittenAndPrinted() async throws {
    let base = try save("base", steady)
    let slow = try save("slow", steady.map { $0 * 1.2 }, faults: ["slow:conv2d:2ms"])
    for (format, word) in [
      ("html", "<!doctype html>"), ("md", "### genbench"), ("junit", "<testsuites"), ("csv", "run_id,case_id"),
      ("bmf", "\"e2e_ns\""),
      ("hyperfine", "\"results\""), ("gbench", "json_schema_version"), ("json", "genbench.run/1"),
    ] {
      let result = await call("report", format, slow)
      #expect(result.status == .success && result.out.contains(word), "\(format): \(result.err)")
      if ["html", "md", "junit"].contains(format) {
        #expect(result.out.contains("slow:conv2d:2ms"), "\(format) tells the fault")
      }
    }
    let page = await call("report", "html", slow, "--against", base, "--out", folder.path("page.html"))
    #expect(page.status == .success)
    #expect(
      String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder.path("page.html"))), as: UTF8.self).contains(
        "1 regressed"))
    #expect(await call("report", "github", slow).status.code == 64)
    #expect(await call("report", "github", slow, "--out", folder.path("gh")).status == .success)
    #expect(FileManager.default.fileExists(atPath: folder.path("gh/smaller-is-better.json")))
    #expect(await call("report", "trace", slow).status.code == 66, "no journal beside it")
    #expect(await call("report", "pdf", slow).status.code == 64)
    #expect(await call("report", "html", folder.path("nowhere/x")).status.code == 66)
  }

  @Test func aSummaryIsAppendedTo() async throws {
    let base = try save("base", steady)
    let summary = folder.path("summary.md")
    try Data("before\n".utf8).write(to: URL(fileURLWithPath: summary))
    let result = await genbench(
      ["compare", base, base, "--markdown", summary, "--store", store], environment: ["GITHUB_STEP_SUMMARY": summary])
    #expect(result.status == .success)
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: summary)), as: UTF8.self)
    #expect(text.hasPrefix("before\n") && text.contains("unchanged"))
  }

  @Test func theHistoryIsKeptAndAsked() async throws {
    #expect(await call("history", "list").status.code == 66)
    let first = try save("first", steady)
    let second = try save("second", steady)
    let added = await call("history", "import", first, second)
    #expect(added.status == .success && added.out.split(separator: "\n").allSatisfy { $0.hasSuffix("added") }, "\(added.err)")
    #expect(await call("history", "import", first).out.contains("was there already"))
    #expect(await call("history", "list").out.split(separator: "\n").count == 4)
    let trend = await call("history", "trend", "--case", "^x$", "--gate")
    #expect(trend.status == .success && trend.out.contains("none"))
    #expect(await call("history", "query", "SELECT count(*) AS n FROM run", "--csv").out == "n\r\n2\r\n")
    #expect(await call("history", "query", "SELECT count(*) AS n FROM run", "--json").out.contains("\"n\" : 2"))
    #expect(await call("history", "query", "DELETE FROM run").status.code == 64)
    let isInstalled = Gnuplot.executable(environment: ProcessInfo.processInfo.environment) != nil
    #expect(await call("plot", "trend", "--terminal", "dumb").status.code == (isInstalled ? 0 : 69))
    #expect(await call("plot", "trend", first).status.code == 64)
    #expect(await call("plot", "latency", first).status.code == 65)
    #expect(await call("plot", "pie", first).status.code == 64)
    #expect(await call("plot", "compare", first).status.code == 64)
  }

  @Test func figuresGoWhereTheyAreAsked() async throws {
    let base = try save("base", steady)
    let out = folder.path("plots")
    let result = await call("plot", "compare", base, try save("slow", steady.map { $0 * 1.2 }), "--out", out)
    #expect(result.status == .success, "\(result.err)")
    for ending in ["gp", "dat"] { #expect(FileManager.default.fileExists(atPath: "\(out)/compare.\(ending)")) }
    let missing = await genbench(
      ["plot", "compare", base, base, "--out", out, "--store", store], environment: ["PATH": "/nowhere"])
    #expect(missing.status == .success && missing.err.contains("gnuplot isn't installed"))
  }

  @Test func theDoctorReadsARecordedTree() async throws {
    let tree = folder.path("tree")
    try FileManager.default.createDirectory(atPath: tree + "/proc", withIntermediateDirectories: true)
    try Data("9.00 1 1 1/1 1\n".utf8).write(to: URL(fileURLWithPath: tree + "/proc/loadavg"))
    let result = await genbench(["doctor", "--root", tree, "--no-probe", "--store", store])
    #expect(result.status == .success && result.out.contains("[BAD ] the load is 9") && result.out.contains("doesn't tell"))
    #expect(await genbench(["doctor", "--root", tree, "--no-probe", "--strict", "--store", store]).status.code == 8)
    let json = try await genbench(["doctor", "--root", tree, "--no-probe", "--json", "--store", store]).json()
    #expect(json["schema"] as? String == "genbench.doctor/1" && json["findings"] is [Any])
    let fault = await genbench(
      ["doctor", "--no-probe", "--store", store], environment: ["GENBENCH_FAULT": "slow:conv2d:2ms"])
    #expect(fault.out.contains("A FAULT IS INJECTED: GENBENCH_FAULT=slow:conv2d:2ms"))
    #expect(await genbench(["doctor", "--root", "/nowhere", "--store", store]).status.code == 66)
  }

  @Test func schemasArePrinted() async throws {
    #expect(await genbench("schema").out == "run\nevent\ncomparison\nnoise\nplan\nsuite\nkernels\n")
    #expect(try await genbench("schema", "run").json()["$id"] as? String == "genbench.run/1")
    #expect(await genbench("schema", "runs").lastErrorLine.contains("Did you mean 'run'?"))
  }

  @Test func jobFilesArePrinted() async {
    for kind in ["slurm", "parallel", "k8s", "github"] {
      let result = await genbench("run", "--variant", "sd15", "--emit", kind, "--shards", "3", "--out", "r")
      #expect(result.status == .success && result.out.contains("--variant sd15") && result.out.contains("--shard"), "\(kind)")
    }
  }

  @Test func twoTracesAreHeldSideBySide() async throws {
    func write(_ name: String, _ change: Float) throws -> String {
      let path = folder.path(name)
      try SafetensorsWriter.write(
        [
          "latents.init": Tensor([1, 2, 3, 4], shape: [1, 4]), "noise_pred.0": Tensor([1, 2, 3, 4 + change], shape: [1, 4]),
          "latents.0": Tensor([1, 2, 3, 4 + 2 * change], shape: [1, 4]),
        ], to: path)
      return path
    }
    let a = try write("a.safetensors", 0)
    let b = try write("b.safetensors", 0.5)
    let same = await genbench("diff", a, a)
    #expect(same.status == .success && same.out.contains("They agree in all 3 entries"))
    let parted = await genbench("diff", a, b)
    #expect(parted.status.code == 7 && parted.out.contains("They part at noise_pred.0: entry 0: the UNet or the guidance."))
    #expect(await genbench("diff", a, b, "--tolerance", "0.5").status == .success)
    let json = try await genbench("diff", a, b, "--json").json()
    #expect((json["first"] as? [String: Any])?["name"] as? String == "noise_pred.0")
    #expect(await genbench("diff", a, folder.path("none")).status.code == 66)
  }

  @Test func calibrationKeepsTheNoise() async throws {
    let result = await genbench(
      ["calibrate", "--variant", "sd15", "--prompts", "1", "--no-plots", "--out", folder.path("cal"), "--store", store])
    #expect(result.status == .success, "\(result.err)")
    #expect(result.out.contains("spread between sessions") && result.out.contains("e2e_ns"))
    let files = try FileManager.default.contentsOfDirectory(atPath: store + "/noise")
    #expect(files.count == 1)
    #expect(await genbench(["calibrate", "--side", "a:threads=1"]).status.code == 64)
    #expect(await genbench(["calibrate", "--merge", "x"]).status.code == 64)
  }
}
