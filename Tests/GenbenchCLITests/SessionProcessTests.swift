import Foundation
import Measurement
import Reporting
import Running
import Synchronization
import TestSupport
import Testing

@testable import GenbenchCLI

/// Sessions as real processes of the built program.
@Suite(.enabled(if: BuiltProgram.isExpected, "the program isn't built"), .serialized)
struct SessionProcessTests {
  private let folder: TemporaryFolder
  private let program: String
  init() throws {
    folder = try TemporaryFolder()
    program = try BuiltProgram.require()
  }

  private func run(_ words: [String], environment: [String: String] = [:]) async -> CommandLineResult {
    let out = Mutex("")
    let err = Mutex("")
    let console = Console(
      style: Console.Style(), out: { text in out.withLock { $0 += text } }, error: { text in err.withLock { $0 += text } })
    var whole = ProcessInfo.processInfo.environment
    whole["GENBENCH_HOME"] = Fixtures.packageFolder.path
    whole["GENBENCH_FAULT"] = nil
    let context = CommandContext(
      console: console, environment: whole.merging(environment) { $1 }, words: words, executable: program,
      makeBackend: { try await GenbenchCommandLine.makeBackend($0) })
    let status = await GenbenchCommandLine.run(context)
    return CommandLineResult(status: status, out: out.withLock { $0 }, err: err.withLock { $0 })
  }

  private func document(_ name: String = "out") throws -> RunDocument {
    try RunDocument(json: Data(contentsOf: URL(fileURLWithPath: folder.path(name + "/run.json"))))
  }

  private func words(_ more: String...) -> [String] {
    [
      "run", "--no-plots", "--out", folder.path("out"), "--variant", "sd15", "--steps", "2", "--size", "64", "--prompts", "2",
      "--warmup", "0",
    ] + more
  }

  @Test func sessionsAreProcessesOfTheirOwn() async throws {
    let result = await run(words("--sessions", "2"))
    #expect(result.status == .success, "\(result.err)")
    let run = try document()
    let pids = run.cases[0].sessions.map(\.pid)
    #expect(Set(pids).count == 2 && !pids.contains(ProcessInfo.processInfo.processIdentifier))
    #expect(
      run.cases[0].conformance?.result == .pass && run.cases[0].conformance?.policy.hasPrefix("golden:small-models/sd15/") == true
    )
    #expect(run.environment.probe != nil && (run.cases[0].work?["unet"]?.flop ?? 0) > 0)
    #expect(run.faults.isEmpty && run.cases[0].summary(.harnessOverhead) != nil)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("out"))
    #expect(!names.contains { $0.hasPrefix(".session") }, "nothing is left behind")
  }

  /// The describer's golden ends by itself, with an end mark that results don't hold.
  @Test(arguments: [nil, "wrong:linear:3"]) func aTextModelIsJudgedByItsGolden(fault: String?) async throws {
    let words = ["run", "--no-plots", "--out", folder.path("out"), "--variant", "smolvlm", "--max-tokens", "4", "--prompts", "1"]
    let result = await run(words, environment: fault.map { ["GENBENCH_FAULT": $0] } ?? [:])
    #expect(result.status.code == (fault == nil ? 0 : 7), "\(result.err)")
    let verdict = try #require(try document().cases[0].conformance)
    #expect(verdict.policy.hasPrefix("golden:small-models/smolvlm/"), "\(verdict)")
    #expect(verdict.result == (fault == nil ? .pass : .fail), "\(verdict)")
  }

  /// A crash, a hang and a kill are rows; the other side is measured all the same.
  @Test(arguments: [
    ("crash:conv2d:30", RunCase.Status.crash, "GENBENCH_FAULT"), ("hang:conv2d:30", .timeout, "said nothing"),
  ]) func aDyingSessionIsARow(fault: String, status: RunCase.Status, word: String) async throws {
    let result = await run(
      words("--gate", "off", "--timeout", "3s", "--side", "good:threads=1", "--side", "bad:threads=1,env.GENBENCH_FAULT=\(fault)")
    )
    #expect(result.status.code == 3, "\(result.err)")
    let run = try document()
    #expect(run.cases.map(\.status) == [.pass, status])
    #expect(run.cases[1].statusReason?.contains(word) == true, "\(run.cases[1].statusReason ?? "")")
    #expect(run.status == .complete && result.out.contains("[bad]"))
  }

  @Test func wrongResultsAreInvalidHoweverFast() async throws {
    let result = await run(words(), environment: ["GENBENCH_FAULT": "wrong:groupnorm"])
    #expect(result.status.code == 7, "\(result.err)")
    let run = try document()
    #expect(run.cases.map(\.status) == [.invalid] && run.cases[0].conformance?.result == .fail)
    #expect(run.faults == ["wrong:groupnorm"] && result.out.contains("FAULT INJECTED") && result.err.contains("ON PURPOSE"))
    #expect(result.out.contains("INVALID"))
  }

  @Test func theGateByPlainLoopsFindsAWrongEngineToo() async throws {
    #expect(await run(words("--gate", "reference")).status == .success)
    let wrong = await run(
      ["run", "--no-plots", "--out", folder.path("wrong")] + words("--gate", "reference").dropFirst(4),
      environment: ["GENBENCH_FAULT": "wrong:groupnorm:1.2"])
    #expect(wrong.status.code == 7, "\(wrong.err)")
  }

  @Test func aFaultThatIsNoneIsAUsageError() async throws {
    let result = await run(words(), environment: ["GENBENCH_FAULT": "slow:everything"])
    #expect(result.status.code == 64 && result.lastErrorLine.contains("GENBENCH_FAULT"), "\(result.err)")
  }

  /// The whole program is killed in the middle of its work; what was measured stays, and --resume does the rest.
  @Test func killedAndResumedIsTheSameSetOfCases() async throws {
    let words = [
      "run", "--no-plots", "--variant", "sd15", "--size", "64", "--steps", "2,3", "--prompts", "3", "--warmup", "0", "--sessions",
      "2",
    ]
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = words + ["--out", folder.path("killed")]
    process.environment = ProcessInfo.processInfo.environment.merging(["GENBENCH_HOME": Fixtures.packageFolder.path]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let journal = URL(fileURLWithPath: folder.path("killed/journal.jsonl"))
    let deadline = ContinuousClock.now + .seconds(900)
    func samples() -> Int { ((try? Journal.read(journal))?.events.filter { $0.isSample }.count) ?? 0 }
    while samples() < 4, process.isRunning, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let before = samples()
    #expect(before >= 4 && before < 12, "killed in the middle")
    #expect(!FileManager.default.fileExists(atPath: folder.path("killed/run.json")))

    let resumed = await run(["run", "--no-plots", "--resume", folder.path("killed")])
    #expect(resumed.status == .success, "\(resumed.err)")
    let whole = await run(words + ["--out", folder.path("whole")])
    #expect(whole.status == .success)
    func shape(_ name: String) throws -> [[String]] {
      try document(name).cases.map {
        [$0.caseID, $0.status.rawValue] + $0.sessions.map { $0.samples.map { "\($0.seed)" }.joined(separator: ",") }
      }
    }
    #expect(try shape("killed") == shape("whole"))
    #expect(try Journal.read(journal).events.filter { $0.isSample }.count == 12, "nothing was measured twice")
    // Once more there is nothing to do.
    #expect(await run(["run", "--no-plots", "--resume", folder.path("killed")]).status == .success)
    #expect(try Journal.read(journal).events.filter { $0.isSample }.count == 12)
  }
}

extension JournalEvent {
  /// Whether it tells of a counted request.
  fileprivate var isSample: Bool {
    if case .sample = ofCase?.event { return true }
    return false
  }
}
