import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import TestSupport
import Testing

/// The command: what it prints, writes, and exits with.
struct ConformCommandTests {
  @Test func aFilteredRunPassesAndWritesAllForms() async throws {
    let folder = try TemporaryFolder()
    let run = await genbench(
      "conform", "--over", "script", "--group", "D", "--filter", "^D-0[1-4]$", "--junit", folder.path("j.xml"), "--markdown",
      folder.path("m.md"), "--html", folder.path("h.html"))
    #expect(run.code == 0, "\(run.err)")
    #expect(run.out.contains("4 passed"))
    #expect(try folder.names == ["h.html", "j.xml", "m.md"])
    #expect(try String(contentsOfFile: folder.path("m.md"), encoding: .utf8).contains("✅ 4 passed"))
  }

  @Test func theSummaryOfAJobIsAddedTo() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array("before\n".utf8), to: "summary.md")
    let run = await genbench(
      "conform", "--over", "script", "--filter", "^D-01$", "--group", "D", "--markdown", path,
      environment: ["GITHUB_STEP_SUMMARY": path])
    #expect(run.code == 0)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.hasPrefix("before\n") && text.contains("1 passed"))
  }

  @Test func jsonHoldsEveryCheck() async throws {
    let run = await genbench("conform", "--over", "script", "--group", "D", "--filter", "D-1", "--json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(run.out.utf8)) as? [String: Any])
    #expect(json["schema"] as? String == "genbench.conformance/1")
    #expect((json["checks"] as? [[String: Any]])?.count == 10)
  }

  @Test func aWrongEngineExitsWith7AndSaysWhereItParts() async throws {
    let run = await genbench(
      "conform", "--over", "engine", "--group", "numerics", "--filter", "^pipelines/sd15/ddim$",
      backend: ScriptedBackendWithTraces())
    #expect(run.code == 7, "\(run.err)")
    #expect(run.out.contains("pipelines/sd15/ddim") && run.out.contains("again"))
    #expect(run.err.contains("exit 7 (nonconforming)"))
  }

  @Test func knownFailuresMakeItPass() async throws {
    let folder = try TemporaryFolder()
    let entry =
      #"{"implementation": "RunAnywhere", "check": "pipelines/sd15/ddim", "reason": "no traces", "expires": "2999-01-01"}"#
    let path = try folder.write(
      Array(#"{"schema": "genbench.expected-failures/1", "entries": [\#(entry)]}"#.utf8), to: "known.json")
    let run = await genbench(
      "conform", "--over", "engine", "--group", "numerics", "--filter", "^pipelines/sd15/ddim$", "--expected", path,
      backend: ScriptedBackendWithTraces())
    #expect(run.code == 0 && run.out.contains("1 failed as expected"), "\(run.err)")
  }

  @Test func aSelfTestOfOneCheckPrintsItsMutants() async throws {
    let run = await genbench("conform", "--self-test", "--filter", "^D-40$")
    #expect(run.out.contains("✓ D-40") && run.out.contains("false-goes-on"))
    let all = await genbench("conform", "--self-test", "--group", "D", "--filter", "^D-(01|02|03)$")
    #expect(all.code == 0, "\(all.out)")
    #expect(all.out.contains("3 of 3 checks proven able to fail"))
  }

  @Test(arguments: [
    ["--group", "Q"], ["--filter", "("], ["--filter", "^nothing$"], ["--over", "moon"], ["--self-test", "--list"],
    ["--self-test", "--junit", "x.xml"], ["--race", "-1"], ["--race", "x"],
  ])
  func wrongUsageExitsWith64(_ words: [String]) async {
    let context = await withWords(["conform"] + words)
    #expect(context == 64)
  }

  private func withWords(_ words: [String]) async -> Int32 {
    switch words.count {
    case 3: await genbench(words[0], words[1], words[2]).code
    default: await genbench(words[0], words[1], words[2], words[3]).code
    }
  }

  @Test func unusableFilesExitWith66And65And64() async throws {
    let folder = try TemporaryFolder()
    #expect(await genbench("conform", "--over", "script", "--filter", "D-01", "--expected", folder.path("none")).code == 66)
    let damaged = try folder.write(Array("{".utf8), to: "damaged.json")
    #expect(await genbench("conform", "--over", "script", "--filter", "D-01", "--expected", damaged).code == 65)
    #expect(await genbench("conform", "--over", "script", "--filter", "D-01", "--html", folder.path("no/h.html")).code == 73)
  }

  @Test func theListNamesEveryCheck() async {
    let run = await genbench("conform", "--list", "--over", "script")
    #expect(run.code == 0)
    for check in Catalogue.all { #expect(run.out.contains(check.id + " ")) }
  }
}

/// A scripted engine that loads any folder and returns traces that are wrong.
struct ScriptedBackendWithTraces: GenBackend {
  private let base = ScriptedBackend()
  var info: BackendInfo { base.info }
  func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await base.load(LoadRequest(path: "scripted:/sd15"), control: control)
  }
  func unload(_ model: ModelID) async { await base.unload(model) }
  func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try await base.generateImages(request, control: control)
  }
  func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    try await base.generateText(request, control: control)
  }
}
