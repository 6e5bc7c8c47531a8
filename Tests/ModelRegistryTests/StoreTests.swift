import Checkpoints
import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import TestSupport
import Testing

/// What is registered and what is on the disk.
struct StoreTests {
  private let store: Store
  private let registry: ModelRegistry

  init() throws {
    store = try Store()
    registry = store.registry()
  }

  private var url: URL { store.server.url("/m.gguf") }

  @Test func registrationsShowAtOnceAndSurvive() throws {
    let made = try registry.registerModel(
      id: "sd", name: "Stable Diffusion", url: store.server.url("/x.zip"), framework: .coreml, modality: .imageGeneration,
      artifactType: .archive(.zip, structure: .nestedDirectory), memoryRequirement: 2_000_000_000)
    let files = ["a.gguf", "mmproj.gguf"].map {
      ModelFileDescriptor(url: store.server.url("/" + $0), filename: $0, sizeBytes: 5)
    }
    let multi = try registry.registerMultiFileModel(
      id: "vlm", name: "VLM", files: files, framework: .llamaCpp, modality: .multimodal, memoryRequirement: 365)
    #expect(try registry.availableModels() == [made, multi])
    #expect(try store.registry().availableModels() == [made, multi])
    #expect(made.memoryRequirement == 2_000_000_000 && made.downloadSize == nil)
    #expect(multi.downloadSize == 10 && multi.memoryRequirement == 365)
  }

  @Test func theLastRegistrationOfAnIdWins() async throws {
    store.server.put("/m.gguf", ServedFile(Data("GGUF1".utf8)))
    try registry.registerModel(id: "m", name: "one", url: url, framework: .llamaCpp)
    try await registry.downloadModel("m")
    // The same files: what is here stays. Other files: it must be downloaded again.
    #expect(try registry.registerModel(id: "m", name: "two", url: url, framework: .llamaCpp).isDownloaded)
    #expect(try registry.availableModels().map(\.name) == ["two"])
    store.server.put("/n.gguf", ServedFile(Data("GGUF2".utf8)))
    #expect(
      try !registry.registerModel(id: "m", name: "three", url: store.server.url("/n.gguf"), framework: .llamaCpp).isDownloaded)
    let path = try #require(try await registry.downloadModel("m").localPath)
    #expect(try Data(contentsOf: path) == Data("GGUF2".utf8))
  }

  @Test(arguments: [
    ("", "n", "http://h/x"), ("  ", "n", "http://h/x"), ("a\u{7}", "n", "http://h/x"), ("m", "", "http://h/x"),
    ("m", "n", "ftp://h/x"), ("m", "n", "x"), ("m", "n", "http:///x"), (String(repeating: "a", count: 201), "n", "http://h/x"),
  ])
  func whatCantBeRegisteredIsRefused(_ id: String, _ name: String, _ url: String) async throws {
    let url = try #require(URL(string: url))
    #expect(await code { try registry.registerModel(id: id, name: name, url: url, framework: .llamaCpp) } == .invalidInput)
    #expect(try registry.availableModels().isEmpty)
  }

  @Test func filesThatCantBeRegisteredAreRefused() async throws {
    func refused(_ files: [ModelFileDescriptor]) async -> Bool {
      await code { try registry.registerMultiFileModel(id: "m", name: "m", files: files, framework: .llamaCpp) } == .invalidInput
    }
    #expect(await refused([]))
    for name in ["", "/a", "../a", "a/../b", "a//b", "a\\b", ".", "a\n", "a:b"] {
      #expect(await refused([ModelFileDescriptor(url: url, filename: name)]), "\(name)")
    }
    let twice = [ModelFileDescriptor(url: url, filename: "A"), ModelFileDescriptor(url: url, filename: "a")]
    #expect(await refused(twice))
    #expect(await refused([ModelFileDescriptor(url: url, filename: "a", sizeBytes: -1)]))
    #expect(await refused([ModelFileDescriptor(url: url, filename: "a", sha256: "abc")]))
    #expect(await refused([ModelFileDescriptor(url: url, filename: "a", isOptional: true)]))
  }

  @Test func manyWritersLoseNothing() async throws {
    let (first, second) = (registry, store.registry())
    let url = url
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          try (number % 2 == 0 ? first : second).registerModel(id: "m\(number)", name: "m", url: url, framework: .llamaCpp)
        }
      }
      try await group.waitForAll()
    }
    #expect(Set(try registry.availableModels().map(\.id)) == Set((0..<40).map { "m\($0)" }))
  }

  @Test func aDamagedIndexIsTold() async throws {
    try registry.registerModel(id: "m", name: "m", url: url, framework: .llamaCpp)
    for text in ["{", #"{"schema": "genbench.models/9", "models": []}"#] {
      _ = try store.folder.write(Array(text.utf8), to: "index.json")
      #expect(await code { _ = try registry.availableModels() } == .storageFailed)
      #expect(await code { try registry.registerModel(id: "n", name: "n", url: url, framework: .llamaCpp) } == .storageFailed)
    }
  }

  @Test func unknownModelsArentFound() async throws {
    #expect(await code { try await registry.downloadModel("none") } == .modelNotFound)
    #expect(await code { try registry.deleteModel("none") } == .modelNotFound)
    #expect(await code { try registry.unregisterModel("none") } == .modelNotFound)
    #expect(await code { _ = try await registry.verifyModel("none") } == .modelNotFound)
    #expect(await code { _ = try registry.lease("none") } == .modelNotFound)
    registry.cancelDownload("none")
  }

  @Test func filesAndFoldersOfThisMachineAreCopied() async throws {
    let source = try TemporaryFolder()
    _ = try source.write(Array("GGUFx".utf8), to: "m.gguf")
    try registry.registerModel(
      id: "file", name: "f", url: source.url.appendingPathComponent("m.gguf"), framework: .llamaCpp)
    let file = try #require(try await registry.downloadModel("file").localPath)
    #expect(try Data(contentsOf: file) == Data("GGUFx".utf8) && file.path.hasPrefix(store.folder.url.path))

    try registry.registerModel(
      id: "sd", name: "sd", url: Fixtures.folder.appendingPathComponent("Models/sd15"), framework: .diffusers)
    let fractions = Fractions()
    let sd = try #require(try await registry.downloadModel("sd") { fractions.add($0) }.localPath)
    // Links of the source have become files.
    var count = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: Fixtures.folder.path + "/Models/sd15") {
      let original = Fixtures.folder.appendingPathComponent("Models/sd15/\(name)").resolvingSymlinksInPath()
      if try original.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true { continue }
      #expect(try Data(contentsOf: sd.appendingPathComponent(name)) == Data(contentsOf: original), "\(name)")
      count += 1
    }
    #expect(count > 10, "a model has that many files")
    #expect(fractions.all == fractions.all.sorted() && fractions.all.last == 1 && fractions.all.count > 3)

    try FileManager.default.removeItem(at: source.url.appendingPathComponent("m.gguf"))
    #expect(try registry.model("file").isDownloaded)
    try registry.registerModel(
      id: "gone", name: "g", url: source.url.appendingPathComponent("none.gguf"), framework: .llamaCpp)
    #expect(await code { try await registry.downloadModel("gone") } == .invalidInput)
  }

  @Test func builtInModelsStayWhereTheyAre() async throws {
    let source = try TemporaryFolder()
    let path = try source.write(Array("GGUFx".utf8), to: "m.gguf")
    let model = try registry.registerModel(
      id: "b", name: "b", url: URL(fileURLWithPath: path), framework: .builtIn, artifactType: .builtIn)
    #expect(model.localPath?.path == path)
    try await registry.downloadModel("b")
    #expect(try registry.storage().models.isEmpty)
    try registry.deleteModel("b")
    try registry.unregisterModel("b")
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test func deletingFreesAndResets() async throws {
    store.server.put("/m.gguf", ServedFile(Data("GGUF".utf8) + noise(996)))
    try registry.registerModel(id: "m", name: "m", url: url, framework: .llamaCpp)
    let path = try #require(try await registry.downloadModel("m").localPath)
    #expect(try registry.storage().models.map(\.bytes) == [1000])
    #expect(await code { try registry.unregisterModel("m") } == .inUse)

    var lease: ModelLease? = try store.registry().lease("m")
    #expect(await code { try registry.deleteModel("m") } == .inUse)
    #expect(FileManager.default.fileExists(atPath: path.path))
    withExtendedLifetime(lease) {}
    lease = nil
    try registry.deleteModel("m")
    #expect(!FileManager.default.fileExists(atPath: path.path))
    #expect(try registry.model("m").localPath == nil && registry.storage().modelBytes == 0)
    try registry.deleteModel("m")
    try registry.unregisterModel("m")
    #expect(try registry.availableModels().isEmpty)
  }

  @Test func verifyingFindsEveryDamage() async throws {
    let files = ["a.bin", "b.bin", "c.bin"]
    for name in files { store.server.put("/" + name, ServedFile(noise(5000))) }
    try registry.registerMultiFileModel(
      id: "m", name: "m", files: files.map { store.file("/" + $0) }, framework: .llamaCpp)
    let folder = try #require(try await registry.downloadModel("m").localPath).deletingLastPathComponent()
    #expect(try await registry.verifyModel("m").isIntact)
    var damaged = noise(5000)
    damaged[4000] ^= 1
    try damaged.write(to: folder.appendingPathComponent("a.bin"))
    try noise(10).write(to: folder.appendingPathComponent("b.bin"))
    try FileManager.default.removeItem(at: folder.appendingPathComponent("c.bin"))
    let report = try await registry.verifyModel("m")
    #expect(report.problems == ["a.bin": .wrongChecksum, "b.bin": .wrongSize, "c.bin": .missing])
    #expect(try registry.model("m").localPath == nil)
    try await registry.downloadModel("m")
    #expect(try await registry.verifyModel("m").isIntact)
  }

  @Test func spaceIsLookedAtBeforeAnythingIsTransferred() async throws {
    let small = try Store(freeBytes: 1_000_000)
    let registry = small.registry()
    small.server.put("/m.bin", ServedFile(noise(950_000)))
    try small.register("known", at: "/m.bin", in: registry, sizeBytes: 950_000)
    #expect(await code { try await registry.downloadModel("known") } == .insufficientStorage)
    #expect(small.server.requests.isEmpty)
    try small.register("unknown", at: "/m.bin", in: registry)
    #expect(await code { try await registry.downloadModel("unknown") } == .insufficientStorage)
    #expect(try registry.storage().partialBytes < 1000)
  }

  @Test(arguments: [
    (100, 110, false, false), (100, 111, true, true), (100, 219, true, true), (100, 220, true, false), (0, 0, false, false),
    (0, 1, true, false),
  ])
  func roomIsMoreThanTheSizeAndATenth(_ bytes: Int, _ free: Int, _ isAvailable: Bool, _ isTight: Bool) {
    let check = StorageCheck(bytes: bytes, freeBytes: free)
    #expect(check.isAvailable == isAvailable && check.isTight == isTight)
    #expect(!StorageCheck(bytes: .max, freeBytes: .max).isAvailable)
  }

  @Test func aFullDiskEndsTheDownloadAndRoomLetsItGoOn() async throws {
    let disk = try TemporaryFolder()
    let mount = Process()
    mount.executableURL = URL(fileURLWithPath: "/bin/mount")
    mount.arguments = ["-t", "tmpfs", "-o", "size=300k", "tmpfs", disk.url.path]
    mount.standardError = FileHandle.nullDevice
    guard (try? mount.run()) != nil else { return }
    mount.waitUntilExit()
    // Only root may mount, and not in every container; elsewhere the free space is what the test above fakes.
    guard mount.terminationStatus == 0 else { return }
    defer {
      let unmount = Process()
      unmount.executableURL = URL(fileURLWithPath: "/bin/umount")
      unmount.arguments = [disk.url.path]
      try? unmount.run()
      unmount.waitUntilExit()
    }
    let greedy = ModelRegistry(folder: disk.url, policy: DownloadPolicy(wait: { _ in }, freeBytes: { _ in .max }))
    let content = noise(1_000_000)
    store.server.put("/m.bin", ServedFile(content))
    try store.register("m", at: "/m.bin", in: greedy)
    #expect(await code { try await greedy.downloadModel("m") } == .insufficientStorage)
    #expect(try greedy.model("m").localPath == nil)
  }

  @Test func theFolderIsWhereTheEnvironmentSays() {
    #expect(ModelRegistry.defaultFolder(environment: ["GENBENCH_MODELS": "/x/y"]).path == "/x/y")
    #expect(ModelRegistry.defaultFolder(environment: ["HOME": "/h"]).path.hasSuffix("genbench/models"))
  }
}
