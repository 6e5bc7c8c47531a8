import Checkpoints
import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import TestSupport
import Testing

/// Stores that somebody damaged, left half-way, or filled with links.
struct HardenedStoreTests {
  private let store: Store
  private let registry: ModelRegistry

  init() throws {
    store = try Store()
    registry = store.registry()
  }

  private func url(_ name: String) -> URL { store.folder.url.appendingPathComponent(name) }

  private func downloaded(_ id: String, size: Int = 5000) async throws -> ModelDescriptor {
    store.server.put("/\(id).bin", .init(noise(size)))
    try store.register(id, at: "/\(id).bin", in: registry)
    return try await registry.downloadModel(id)
  }

  // MARK: - The index

  @Test(arguments: ["index.json", "secrets.json"])
  func aListThatCantBeReadIsNotEmpty(_ name: String) async throws {
    let link = try #require(URL(string: "http://u:p@127.0.0.1/m"))
    try registry.registerModel(id: "m", name: "m", url: link, framework: .diffusers)
    try FileManager.default.moveItem(at: url(name), to: url("away"))
    // A folder can't be read by anybody, root included.
    try FileManager.default.createDirectory(at: url(name), withIntermediateDirectories: false)
    #expect(await code { try registry.registerModel(id: "n", name: "n", url: link, framework: .diffusers) } == .storageFailed)
    if name == "index.json" { #expect(await code { _ = try registry.availableModels() } == .storageFailed) }
    try FileManager.default.removeItem(at: url(name))
    try FileManager.default.moveItem(at: url("away"), to: url(name))
    #expect(try store.registry().availableModels().map(\.id) == ["m"])
  }

  @Test(arguments: ["../../evil", "a/../../evil", "/etc/x", "a\u{0}b"])
  func anIndexWithPathsThatLeadOutIsRefused(_ name: String) async throws {
    try store.register("m", at: "/m.bin", in: registry)
    let text = try String(contentsOf: url("index.json"), encoding: .utf8)
    let escaped = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
    #expect(text.contains("\"filename\" : \"m.bin\""))
    _ = try store.folder.write(
      Array(text.replacingOccurrences(of: "\"filename\" : \"m.bin\"", with: "\"filename\" : \(escaped)").utf8), to: "index.json")
    #expect(await code { _ = try registry.availableModels() } == .storageFailed)
  }

  @Test func aReceiptWithPathsThatLeadOutCountsForNothing() async throws {
    let model = try await downloaded("m")
    let receipt = try #require(model.localPath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("receipt.json")
    for (old, new) in [
      ("\"path\" : \"m.bin\"", "\"path\" : \"../../../x\""), ("\"mainPath\" : \"m.bin\"", "\"mainPath\" : \"../..\""),
    ] {
      let text = try String(contentsOf: receipt, encoding: .utf8)
      #expect(text.contains(old))
      try Data(text.replacingOccurrences(of: old, with: new).utf8).write(to: receipt)
      #expect(try registry.model("m").localPath == nil)
      try Data(text.utf8).write(to: receipt)
    }
    #expect(try registry.model("m").localPath != nil)
  }

  @Test(arguments: ["../\u{301}evil", "..\u{301}/../x/../../evil", "a/..", "..", "\u{301}a", "a/\u{301}b", "\u{600}/a"])
  func namesAreLookedAtByBytes(_ name: String) async throws {
    let file = ModelFileDescriptor(url: store.server.url("/m"), filename: name)
    #expect(
      await code { try registry.registerMultiFileModel(id: "m", name: "m", files: [file], framework: .diffusers) }
        == .invalidInput)
  }

  @Test func idsThatAreEqualAsTextsAreOneModel() async throws {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    store.server.put("/m.bin", .init(noise(5000)))
    try store.register(composed, at: "/m.bin", in: registry)
    try await registry.downloadModel(composed)
    try store.register(decomposed, at: "/m.bin", in: registry)
    #expect(try registry.availableModels().count == 1)
    #expect(try registry.model(decomposed).isDownloaded)
  }

  // MARK: - Links

  @Test func foldersBehindLinksAreCopiedToo() async throws {
    let source = try TemporaryFolder()
    for (name, content) in [("blobs/one", "weights"), ("parts/unet/config.json", "{}"), ("model/model_index.json", "{}")] {
      let place = source.url.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(content.utf8).write(to: place)
    }
    let model = source.url.appendingPathComponent("model")
    let manager = FileManager.default
    try manager.createSymbolicLink(atPath: model.path + "/unet", withDestinationPath: "../parts/unet")
    try manager.createSymbolicLink(atPath: model.path + "/w.bin", withDestinationPath: "../blobs/one")
    try registry.registerModel(id: "m", name: "m", url: model, framework: .diffusers)
    let folder = try #require(try await registry.downloadModel("m").localPath)
    #expect(try Data(contentsOf: folder.appendingPathComponent("unet/config.json")) == Data("{}".utf8))
    #expect(try Data(contentsOf: folder.appendingPathComponent("w.bin")) == Data("weights".utf8))
    #expect(try await registry.verifyModel("m").fileCount == 3)

    for (name, target) in [("loop", "."), ("gone", "nowhere")] {
      try manager.createSymbolicLink(atPath: model.path + "/" + name, withDestinationPath: target)
      try registry.registerModel(id: name, name: name, url: model, framework: .diffusers)
      #expect(await code { try await registry.downloadModel(name) } == .invalidInput, "\(name)")
      try manager.removeItem(atPath: model.path + "/" + name)
    }
    #expect(mkfifo(model.path + "/pipe", 0o600) == 0)
    try registry.registerModel(id: "pipe", name: "pipe", url: model, framework: .diffusers)
    #expect(await code { try await registry.downloadModel("pipe") } == .invalidInput)
  }

  @Test func foldersOfPointersOrOfNothingArentModels() async throws {
    for (name, content) in [
      ("unet.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"), ("w.safetensors", ""),
      ("x", ""),
    ] {
      let source = try TemporaryFolder()
      _ = try source.write(Array(content.utf8), to: name)
      try registry.registerModel(id: name, name: name, url: source.url, framework: .diffusers)
      let found = await code { try await registry.downloadModel(name) }
      #expect(found == .invalidContent || found == .invalidInput, "\(name)")
    }
  }

  @Test func verifyingKnowsWhatIsNoModel() async throws {
    let source = try TemporaryFolder()
    for (name, content, isIntact) in [("m.gguf", "GGUF", false), ("n.gguf", "", false), ("o.bin", "x", true)] {
      let path = try source.write(Array(content.utf8), to: name)
      try registry.registerModel(
        id: name, name: name, url: URL(fileURLWithPath: path), framework: .builtIn, artifactType: .builtIn)
      let report = try await registry.verifyModel(name)
      #expect(report.isIntact == isIntact && report.bytes == content.utf8.count && report.fileCount == 1)
    }
    try FileManager.default.createSymbolicLink(atPath: source.path("gone.gguf"), withDestinationPath: "nowhere")
    let gone = try registry.registerModel(
      id: "gone", name: "g", url: source.url.appendingPathComponent("gone.gguf"), framework: .builtIn, artifactType: .builtIn)
    #expect(!gone.isDownloaded)
  }

  // MARK: - Broken off

  @Test func whatWasReadyIsPutInPlaceWithoutAnotherTransfer() async throws {
    let model = try await downloaded("m")
    let place = try #require(model.localPath).deletingLastPathComponent().deletingLastPathComponent()
    let partial = url("partial/\(place.lastPathComponent)")
    try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: true)
    // Killed between the receipt and the last rename.
    try FileManager.default.moveItem(at: place, to: partial.appendingPathComponent("install"))
    #expect(try !registry.model("m").isDownloaded)
    try await store.registry().downloadModel("m")
    #expect(try await registry.verifyModel("m").isIntact)
    #expect(store.server.count("/m.bin") == 1)
    #expect(!FileManager.default.fileExists(atPath: partial.path))
  }

  @Test func leftoversAreFoundAndRemoved() async throws {
    _ = try await downloaded("m")
    _ = try store.folder.write([1], to: ".index.json.4242.77.tmp")
    _ = try store.folder.write([1], to: ".mine.tmp")
    var resource = noise(700_001)
    resource[0] = 1
    store.server.put(
      "/half.bin",
      {
        var half = ServedFile(resource)
        half.faults = [.cut(afterBytes: 300_000)]
        return half
      }())
    try store.register("half", at: "/half.bin", in: registry)
    _ = await code { try await store.registry(retries: 0).downloadModel("half") }
    for (name, size) in [("trash/A/files/w.bin", 300), ("trash/lone", 20), ("partial/old-0123456789/files/x.part", 100)] {
      let place = url(name)
      try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
      try noise(size).write(to: place)
    }
    #expect(try registry.storage().trashBytes == 320)
    #expect(
      try registry.leftovers().map(\.lastPathComponent).sorted() == [".index.json.4242.77.tmp", "A", "lone", "old-0123456789"])
    try registry.removeLeftovers()
    #expect(try registry.leftovers().isEmpty)
    #expect(try registry.storage().trashBytes == 0)
    #expect(try registry.storage().partialBytes >= 300_000, "a download that can go on stays")
    #expect(try store.folder.names.contains(".mine.tmp"))
    #expect(try await registry.verifyModel("m").isIntact)
  }

  @Test func theNextRemovalEmptiesTheTrash() async throws {
    _ = try await downloaded("m")
    try FileManager.default.createDirectory(at: url("trash/A/files"), withIntermediateDirectories: true)
    try noise(300).write(to: url("trash/A/files/w.bin"))
    try registry.deleteModel("m")
    #expect(try FileManager.default.contentsOfDirectory(atPath: url("trash").path).isEmpty)
  }

  @Test func aVerificationStopsWhenItsTaskDoes() async throws {
    _ = try await downloaded("m", size: 30_000_000)
    let registry = registry
    let (reached, told) = AsyncStream.makeStream(of: Void.self)
    let task = Task { try await registry.verifyModel("m") { _ in told.yield() } }
    for await _ in reached { break }
    task.cancel()
    let result = await code { _ = try await task.value }
    #expect(result == .cancelled || result == nil)
  }
}
