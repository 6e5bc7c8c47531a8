import Conformance
import ConformanceDoubles
import Foundation
import Imaging
import ModelRegistry
import Tensors
import TestSupport
import Testing

@testable import GenbenchCLI

/// `models register|download|verify|remove|list` and `--model ID`, against a server of the loopback.
struct ModelsCommandTests {
  private let folder: TemporaryFolder
  private let server: ModelServer

  init() throws {
    folder = try TemporaryFolder()
    server = try ModelServer()
  }

  private var environment: [String: String] { ["GENBENCH_MODELS": folder.path("store")] }

  private func models(_ words: String...) async -> CommandLineResult {
    await genbench(["models"] + words, environment: environment)
  }

  private static func content(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 8) }) }

  @Test func aModelComesIsUsedAndGoes() async throws {
    for name in ["model.gguf", "mmproj.gguf"] {
      let file = Fixtures.folder.appendingPathComponent("Models/smolvlm/\(name)")
      server.put("/\(name)", ServedFile(try Data(contentsOf: file)))
    }
    let registered = await models(
      "register", "vlm", server.url("/model.gguf").absoluteString, server.url("/mmproj.gguf").absoluteString, "--memory",
      "365000000", "--json")
    #expect(registered.status.code == 0, "\(registered.err)")
    let json = try registered.json()
    #expect(json["framework"] as? String == "llamaCpp" && json["modality"] as? String == "multimodal")
    #expect(json["state"] as? String == "registered" && json["memory_bytes"] as? Int == 365_000_000)
    #expect(await models("list").out.contains("| vlm"))

    let image = folder.path("image.png")
    let early = await genbench(["complete", "--model", "vlm", "--prompt", "x"], backend: nil, environment: environment)
    #expect(early.status.code == 66 && early.err.contains("genbench models download vlm"))

    let downloaded = await models("download", "vlm")
    #expect(downloaded.status.code == 0, "\(downloaded.err)")
    #expect(downloaded.out.hasSuffix("model.gguf\n"))
    #expect(try await models("download", "vlm", "--json").json()["state"] as? String == "downloaded")

    let samples = (0..<(30 * 20 * 3)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try Data(PNGFile.encode(Bitmap(width: 30, height: 20, samples: samples))).write(to: URL(fileURLWithPath: image))
    let described = await genbench(
      ["describe", "--model", "vlm", "--image", image, "--prompt", "a fox", "--max-tokens", "4", "--json"], backend: nil,
      environment: environment)
    #expect(described.status.code == 0, "\(described.err)")
    #expect(try (described.json()["ids"] as? [Int])?.isEmpty == false)

    #expect(await models("verify").out.contains("vlm: intact, 2 files"))
    let removed = await models("remove", "vlm")
    #expect(removed.status.code == 0 && removed.err.contains("freed"))
    #expect(await !models("list").out.contains("| vlm"))
    #expect(await models("remove", "vlm").status.code == 66)
  }

  @Test func aDiffusersFolderIsRegisteredInPlaceAndUsedById() async throws {
    let sd15 = Fixtures.folder.appendingPathComponent("Models/sd15").path
    #expect(await models("register", "mine", sd15, "--in-place").status.code == 0)
    let show = await genbench(["models", "show", "mine"], environment: environment)
    #expect(show.out.contains("UNet2DConditionModel"), "\(show.err)")
    #expect(await models("remove", "mine").status.code == 0)
    #expect(FileManager.default.fileExists(atPath: sd15 + "/model_index.json"))
  }

  @Test func theCatalogueHoldsTheModelsOfTheDocumentation() async throws {
    let list = await models("list")
    for id in ["sd15", "sd20", "sdxl", "smolvlm-256m", "smolvlm-500m", "qwen2vl-2b"] {
      #expect(list.out.contains("| \(id) "), "\(id)")
    }
    let catalogue = try ModelCatalogue.shipped(in: Fixtures.folder)
    for entry in catalogue.entries {
      #expect(entry.registration.files.allSatisfy { $0.url.scheme == "https" && $0.url.host == "huggingface.co" })
      #expect(entry.registration.memoryRequirement != nil && !entry.license.isEmpty)
      #expect(entry.registration.framework == .coreml || entry.registration.downloadSize != nil)
    }
    #expect(catalogue["SmolVLM-256M-Instruct"]?.registration.files.map(\.role) == [.primary, .visionProjector])
    #expect(catalogue["none"] == nil)
    let coreml = await models("download", "sd15-coreml-palettized")
    #expect(coreml.status.code == 64 && coreml.err.contains("CoreML") && coreml.err.contains("take 'sd15'"))
  }

  @Test func damageAndMistakesAreTold() async throws {
    server.put("/m.bin", ServedFile(Self.content(5000)))
    let address = server.url("/m.bin").absoluteString
    #expect(await models("register", "m", address).status.code == 0)
    let path = await models("download", "m").out.trimmingCharacters(in: .newlines)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[100] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    let damaged = await models("verify", "m")
    #expect(damaged.status.code == 65 && damaged.out.contains("another content"))

    for (words, code, part) in [
      (["download", "sd16"], 66, "did you mean 'sd15'"), (["verify", "none"], 66, "isn't registered"),
      (["register", "m"], 64, "location"), (["register", "m", "/nowhere"], 66, "/nowhere"),
      (["register", "m", "ftp://h/x"], 64, "ftp"), (["register", "m", address, "--sha256", "abc"], 64, "64 hexadecimal"),
      (["register", "m", address, address, "--sha256", "abc"], 64, "one for each") as ([String], Int32, String),
      (["register", "m", address, "--framework", "x"], 64, "framework"), (["download"], 64, "id"),
    ] as [([String], Int32, String)] {
      let result = await genbench(["models"] + words, environment: environment)
      #expect(result.status.code == code, "\(words): \(result.err)")
      #expect(result.err.contains(part), "\(words): \(result.err)")
    }
    #expect(await models("register", "gone", server.url("/gone").absoluteString).status.code == 0)
    let gone = await models("download", "gone", "--retries", "0")
    #expect(gone.status.code == 69 && gone.err.contains("404"))
  }

  private func part(_ bytes: Int) async throws {
    // The file grows as the other process writes; it stands still when the server waits.
    let found = folder.url.appendingPathComponent("store/partial")
    for _ in 0..<3000 {
      let files = FileManager.default.enumerator(at: found, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
      let sizes = files.filter { $0.pathExtension == "part" }.map {
        (try? FileManager.default.attributesOfItem(atPath: $0.path)[.size] as? Int) ?? 0
      }
      if sizes.contains(bytes) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the download never reached \(bytes) bytes")
  }

  @Test func aKilledDownloadGoesOn() async throws {
    let gate = Gate()
    let content = Self.content(3_000_000)
    var resource = ServedFile(content)
    resource.faults = [.hold(afterBytes: 1_000_000, gate)]
    server.put("/m.bin", resource)
    #expect(await models("register", "m", server.url("/m.bin").absoluteString).status.code == 0)

    let tests = try #require(Bundle.main.executableURL)
    let process = Process()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("genbench")
    process.arguments = ["models", "download", "m"]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try await part(1_000_000)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    gate.open()
    #expect(await models("list", "--json").out.contains("\"registered\""))

    let result = await models("download", "m")
    #expect(result.status.code == 0, "\(result.err)")
    let path = result.out.trimmingCharacters(in: .newlines)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == content)
    #expect(server.requests.last?.headers["range"] == "bytes=1000000-")
  }

  @Test func anInterruptStopsADownloadAndKeepsWhatIsHere() async throws {
    let gate = Gate()
    let content = Self.content(3_000_000)
    var resource = ServedFile(content)
    resource.faults = [.hold(afterBytes: 1_000_000, gate)]
    server.put("/m.bin", resource)
    #expect(await models("register", "m", server.url("/m.bin").absoluteString).status.code == 0)
    let interrupts = Interrupts()
    let environment = environment
    let run = Task { await genbench(["models", "download", "m"], environment: environment, interrupts: interrupts) }
    try await part(1_000_000)
    interrupts.deliver(SIGINT)
    let stopped = await run.value
    gate.open()
    #expect(stopped.status.code == 130 && stopped.err.contains("goes on where it stopped"), "\(stopped.err)")
    #expect(await models("download", "m").status.code == 0)
    #expect(server.requests.last?.headers["range"] == "bytes=1000000-")
  }

  @Test func aDownloadShowsRateAndTimeLeft() {
    let progress = DownloadProgress(
      stage: .downloading, bytesDone: 1 << 30, bytesTotal: 3 << 30, file: "unet/w.safetensors", fileIndex: 9, fileCount: 15,
      fraction: 0.33)
    let bar = TransferDisplay.line("sd15", progress, rate: Double(64 << 20), columns: 120, hasBar: true)
    #expect(bar.hasPrefix("sd15 [#########.....") && bar.contains("1.00 GiB of 3.00 GiB, 64.0 MiB/s, 32 s left"))
    #expect(bar.hasSuffix("unet/w.safetensors (9 of 15)"))
    let plain = TransferDisplay.line("sd15", progress, rate: nil, columns: 80, hasBar: false)
    #expect(plain.hasPrefix("sd15: 1.00 GiB of 3.00 GiB  unet"))
    #expect(TransferDisplay.line("sd15", progress, rate: 1e6, columns: 60, hasBar: true).count < 60)
    #expect(TransferDisplay.rate([(0, 0), (2_000_000_000, 10)]) == 5)
    #expect(TransferDisplay.rate([(5, 5)]) == nil && TransferDisplay.rate([]) == nil)
  }

  @Test func damagedCataloguesAreTold() {
    let model = #"{"id": "m", "aliases": [], "name": "m", "framework": "diffusers", "modality": "imageGeneration", "#
    let rest = #""base": "https://h/", "files": [{"path": "a"}], "license": "x", "page": "y"}"#
    for text in [
      "{", #"{"schema": "other", "models": []}"#,
      #"{"schema": "genbench.catalogue/1", "models": [\#(model)\#(rest), \#(model)\#(rest)]}"#,
      #"{"schema": "genbench.catalogue/1", "models": [\#(model)"base": "ftp://h/", "files": [], "license": "x", "page": "y"}]}"#,
    ] {
      #expect(throws: RegistryError.self) { _ = try ModelCatalogue(data: Data(text.utf8), name: "c.json") }
    }
  }
}
