import Foundation
import GenBackend
import Imaging
import Measurement
import Reporting
import Tensors
import TestSupport
import Testing

@testable import GenbenchCLI

@Suite struct RunCommandTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func run(
    _ words: String..., backend: ScriptedBackend = ScriptedBackend(), environment: [String: String] = [:],
    interrupts: Interrupts = Interrupts()
  ) async -> CommandLineResult {
    await genbench(
      ["run", "--out", folder.path("out")] + words, backend: backend, environment: environment, interrupts: interrupts)
  }

  private func document() throws -> RunDocument {
    try RunDocument(json: try Data(contentsOf: URL(fileURLWithPath: folder.path("out/run.json"))))
  }

  @Test func everythingIsWritten() async throws {
    let result = await run(
      "--variant", "sd15,sdxl", "--prompts", "3", "--repetitions", "2", "--warmup", "1", "--label", "why=test")
    #expect(result.status == .success, "\(result.err)")
    let run = try document()
    #expect(run.status == .complete && run.exit.code == 0 && run.labels == ["why": "test"])
    #expect(run.cases.map(\.caseID) == ["sd15/16x8/pndm/3", "sdxl/16x8/pndm/3"])
    for runCase in run.cases {
      #expect(runCase.status == .pass && runCase.conformance?.result == .notJudged)
      let session = try #require(runCase.sessions.first)
      #expect(session.samples.count == 6 && session.warmupNs.count == 1)
      #expect(session.samples.map(\.seed) == [0, 1, 2, 0, 1, 2])
      for sample in session.samples {
        #expect(sample.stagesNs.values.reduce(0, +) + sample.unaccountedNs == sample.e2eNs)
        #expect(sample.stepsNs.count == 3)
        #expect(Set(sample.stepPartsNs.keys) == ["unet_uncond", "unet_cond", "scheduler"])
      }
      #expect(runCase.summary(.endToEnd)?.n == 6)
      #expect(runCase.summary(.step)?.n == 18)
      #expect(runCase.artifacts.count == 3)
      for artifact in runCase.artifacts {
        let image = try ImageFile.read(path: folder.path("out/" + artifact))
        #expect(image.width == 16 && image.height == 8)
      }
      #if os(Linux)
        #expect(runCase.summary(.peakResident) != nil)
        #expect((session.memory?.rssBytes.count ?? 0) >= 1)
      #endif
    }
    #expect(result.out.contains("| sd15/16x8/pndm/3 |") && result.out.contains("not judged"))
    let table = String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder.path("out/table.md"))), as: UTF8.self)
    #expect(table.trimmingCharacters(in: .newlines) == result.out.trimmingCharacters(in: .newlines))
    let sheet = try ImageFile.read(path: folder.path("out/contact-sheet.png"))
    #expect(sheet.width == 4 + 3 * 100 && sheet.height == 4 + 2 * 100 + 12)
  }

  @Test func withoutAVerbARunIsMeant() async throws {
    let backend = ScriptedBackend()
    let result = await genbench(
      ["--prompts", "1", "--warmup", "0", "--out", folder.path("out"), "--no-plots"], backend: backend)
    #expect(result.status == .success, "\(result.err)")
    #expect(backend.loads.count == 5, "three image models, two text models")
  }

  @Test func listsAreMeasuredInFullProduct() async throws {
    let result = await run(
      "--variant", "sd15", "--prompts", "1", "--warmup", "0", "--steps", "1,2", "--size", "64x64,128", "--scheduler",
      "ddim,euler",
      "--no-plots")
    #expect(result.status == .success)
    let ids = try document().cases.map(\.caseID)
    #expect(ids.count == 8 && Set(ids).count == 8)
    #expect(ids.first == "sd15/64x64/ddim/1" && ids.last == "sd15/128x128/euler/2")
    #expect(
      FileManager.default.fileExists(atPath: folder.path("out/images/sd15/64x64-ddim-1/00-a-large-red-circle-on-a-blue.png")))
  }

  @Test func theJSONIsTheFile() async throws {
    let result = await run("--variant", "sd15", "--prompts", "1", "--json", "--no-plots")
    #expect(Data(result.out.utf8) == (try Data(contentsOf: URL(fileURLWithPath: folder.path("out/run.json")))))
    let object = try result.json()
    #expect(object["schema"] as? String == "genbench.run/1")
    #expect(object["labels"] is [String: Any])
    let environment = try #require(object["environment"] as? [String: Any])
    #expect(environment["aslr"] != nil, "nil is written as null")
  }

  @Test func aFailingCaseIsARowAndTheOthersGoOn() async throws {
    var script = ScriptedBackend.Script()
    script.failure = (1, BackendError(.processingFailed, "the image isn't finite"))
    let result = await run(
      "--variant", "sd15", "--steps", "2,3", "--prompts", "1", "--warmup", "0", "--no-plots", backend: ScriptedBackend(script))
    #expect(result.status.code == 3)
    #expect(result.lastErrorLine.contains("sd15/16x8/pndm/3") && result.lastErrorLine.contains("isn't finite"))
    let run = try document()
    #expect(run.cases.map(\.status) == [.pass, .error])
    #expect(run.exit.code == 3 && run.status == .complete)
    #expect(result.out.contains("failed"))
  }

  @Test func aModelThatCannotBeLoadedIsARow() async throws {
    var script = ScriptedBackend.Script()
    script.loadError = BackendError(.outOfMemory, "too big")
    let result = await run("--variant", "sd15,sd20", "--prompts", "1", "--no-plots", backend: ScriptedBackend(script))
    #expect(result.status.code == 3)
    #expect(try document().cases.map(\.status) == [.outOfMemory, .outOfMemory])
  }

  @Test(arguments: [(Int32(2), Int32(130)), (15, 143)])
  func anInterruptedRunWritesWhatItHas(signal: Int32, code: Int32) async throws {
    let interrupts = Interrupts()
    var script = ScriptedBackend.Script()
    script.beforeImage = { if $0 == 2 { interrupts.deliver(signal) } }
    let result = await run(
      "--variant", "sd15,sd20", "--prompts", "4", "--warmup", "0", backend: ScriptedBackend(script), interrupts: interrupts)
    #expect(result.status.code == code)
    let run = try document()
    #expect(run.status == .incomplete && run.exit.code == code)
    #expect(run.cases.count == 1 && run.cases[0].status == .incomplete)
    #expect(run.cases[0].sessions[0].samples.count == 2)
    #expect(result.out.contains("incomplete"))
  }

  @Test func withoutGnuplotTheRunSucceedsAndSaysSo() async throws {
    let result = await run(
      "--variant", "sd15", "--prompts", "1", environment: ["PATH": "/nowhere"])
    #expect(result.status == .success)
    #expect(result.err.contains("gnuplot isn't installed"))
    #expect(FileManager.default.fileExists(atPath: folder.path("out/plots/steps.gp")))
    #expect(FileManager.default.fileExists(atPath: folder.path("out/plots/memory.dat")))
  }

  @Test func promptsComeFromAFile() async throws {
    let file = folder.path("prompts.txt")
    try Data("# mine\n a dog \n\n日本語\n".utf8).write(to: URL(fileURLWithPath: file))
    let result = await run("--variant", "sd15", "--prompts", file, "--no-plots", "--warmup", "0")
    #expect(result.status == .success)
    let run = try document()
    #expect(run.cases[0].sessions[0].samples.map(\.prompt) == ["a dog", "日本語"])
    #expect(run.cases[0].artifacts == ["images/sd15/00-a-dog.png", "images/sd15/01-prompt.png"])
  }

  @Test(
    arguments: [
      (["--prompts", "0"], Int32(64)), (["--prompts", "49"], 64), (["--prompts", "/nowhere"], 66), (["--variant", "sd99"], 64),
      (["--model", "/nowhere"], 66), (["--steps", "4,x"], 64), (["--size", "8y8"], 64), (["--repetitions", "0"], 64),
      (["--label", "x"], 64), (["--out", "/proc/nowhere/x"], 73), (["extra"], 64),
      (["--variant", "sd15,sd20", "--model", "m"], 64),
      (["--fixtures", "/nowhere"], 66), (["--scenario", "fast"], 64), (["--precision", "f8"], 64), (["--kernels", "magic"], 64),
      (["--threads", "0"], 64), (["--param", "colour=red"], 64), (["--param", "steps"], 64), (["--side", "a:kernels=fast"], 64),
      (["--side", "a:x=1", "--side", "b:x=2"], 64), (["--side", "a:threads=1", "--side", "a:threads=2"], 64),
      (["--sessions", "0"], 64),
      (["--min-time", "5"], 64), (["--until-ci", "2"], 64), (["--interleave", "zigzag"], 64), (["--shard", "5/4"], 64),
      (["--shard", "auto"], 64), (["--suite", "/nowhere"], 66), (["--resume", "/nowhere"], 64), (["--mmproj", "x"], 64),
      (["--steps", "9-4"], 64), (["--exclude", "variant=sd15", "--variant", "sd15"], 64), (["--image", "/nowhere"], 66),
    ] as [([String], Int32)])
  func mistakesEndBeforeAnyWork(words: [String], code: Int32) async {
    let backend = ScriptedBackend()
    let result = await genbench(["run", "--out", folder.path("out")] + words, backend: backend)
    #expect(result.status.code == code, "\(result.err)")
    #expect(backend.loads.isEmpty)
  }

  @Test func anEmptyPromptFileIsRefused() async throws {
    let file = folder.path("prompts.txt")
    try Data("# nothing\n\n".utf8).write(to: URL(fileURLWithPath: file))
    #expect(await run("--prompts", file).status.code == 65)
    try Data([0xff, 0xfe, 0x00]).write(to: URL(fileURLWithPath: file))
    #expect(await run("--prompts", file).status.code == 65)
  }
}
