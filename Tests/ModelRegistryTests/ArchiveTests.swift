import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import TestSupport
import Testing

/// Archives: layouts that people have, and ones that nobody should unpack.
struct ArchiveTests {
  private let store: Store
  private let registry: ModelRegistry

  init() throws {
    store = try Store()
    registry = store.registry()
  }

  private func download(
    _ entries: [TestArchive.Entry], kind: TestArchive.Kind = .zip, type: ArchiveFormat = .zip,
    structure: ArchiveStructure = .nestedDirectory
  ) async throws -> ModelDescriptor {
    let path = store.folder.path("archive-\(UUID().uuidString)")
    try TestArchive.make(kind, entries, at: path)
    store.server.put("/archive", ServedFile(try Data(contentsOf: URL(fileURLWithPath: path))))
    try registry.registerModel(
      id: "m", name: "m", url: store.server.url("/archive"), framework: .diffusers, modality: .imageGeneration,
      artifactType: .archive(type, structure: structure), memoryRequirement: 1)
    return try await registry.downloadModel("m")
  }

  private static let model: [(String, Data)] = [
    ("model_index.json", Data("{}".utf8)), ("unet/config.json", noise(200)), ("unet/w.safetensors", noise(300_000)),
  ]

  @Test(arguments: [
    (TestArchive.Kind.zip, ArchiveFormat.zip), (.tarGz, .tarGz), (.tarXz, .tarXz), (.tarBz2, .tarBz2), (.tar, .tar),
  ])
  func everyKindUnpacks(_ kind: TestArchive.Kind, _ format: ArchiveFormat) async throws {
    let model = try await download(Self.model.map { .file("wrap/inner/\($0.0)", $0.1) }, kind: kind, type: format)
    let folder = try #require(model.localPath)
    #expect(folder.path.hasSuffix("wrap/inner"))
    for (name, content) in Self.model { #expect(try Data(contentsOf: folder.appendingPathComponent(name)) == content) }
    #expect(try registry.storage().modelBytes == Self.model.reduce(0) { $0 + $1.1.count })
    #expect(try registry.storage().partialBytes == 0)
  }

  @Test(arguments: ["", "one/", "one/two/three/"])
  func layoutsResolve(_ prefix: String) async throws {
    let extras: [TestArchive.Entry] = [.file("__MACOSX/._x", noise(10)), .file("\(prefix).DS_Store", noise(10))]
    let model = try await download(Self.model.map { .file(prefix + $0.0, $0.1) } + extras)
    let folder = try #require(model.localPath)
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("model_index.json").path))
    #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("__MACOSX").path))
  }

  @Test func aSingleFileWithinFoldersIsTheModel() async throws {
    let gguf = Data("GGUF".utf8) + noise(500)
    let entries: [TestArchive.Entry] = [
      .file("a/b/m.gguf", gguf), .file("a/b/mmproj-m.gguf", gguf), .file("a/README.md", noise(5)),
    ]
    let model = try await download(entries, structure: .singleFileNested)
    #expect(model.localPath?.lastPathComponent == "m.gguf")
    #expect(model.localFile(.visionProjector)?.lastPathComponent == "mmproj-m.gguf")
  }

  @Test(arguments: [
    TestArchive.Entry.file("../evil", Data([1])), .file("a/../../evil", Data([1])), .file("/tmp/genbench-evil", Data([1])),
    .file("a\\..\\evil", Data([1])), .symlink("link", to: "/etc"), .symlink("link", to: "model_index.json"),
    .hardlink("hard", to: "model_index.json"), .pipe("pipe"), .file("MODEL_INDEX.JSON", Data([1])),
  ])
  func hostileEntriesAreRefused(_ entry: TestArchive.Entry) async throws {
    let entries: [TestArchive.Entry] = [.file("model_index.json", Data("{}".utf8)), entry]
    #expect(await code { _ = try await download(entries, kind: .tarGz, type: .tarGz) } == .extractionFailed)
    #expect(try registry.model("m").localPath == nil)
    #expect(try registry.storage().partialBytes == 0)
    let manager = FileManager.default
    #expect(!manager.fileExists(atPath: "/tmp/genbench-evil"))
    let leftovers = manager.enumerator(atPath: store.folder.url.path)?.compactMap { $0 as? String } ?? []
    #expect(!leftovers.contains { $0.hasSuffix("evil") || $0.hasSuffix("link") || $0.hasSuffix("hard") })
  }

  @Test func zipsWithHostileNamesAreRefused() async throws {
    for name in ["../evil", "/abs", "a//b", "a/./b", "C:evil"] {
      let data = ZipBuilder.archive([("model_index.json", Data("{}".utf8)), (name, Data([1]))])
      store.server.put("/z.zip", ServedFile(data))
      try registry.registerModel(id: "z", name: "z", url: store.server.url("/z.zip"), framework: .diffusers)
      #expect(await code { try await registry.downloadModel("z") } == .extractionFailed, "\(name)")
    }
  }

  @Test func bombsAreRefused() async throws {
    let entries = [TestArchive.Entry.file("model_index.json", Data(count: 64 << 20))]
    let error = await #expect(throws: RegistryError.self) { _ = try await download(entries, kind: .tarGz, type: .tarGz) }
    #expect(error?.code == .extractionFailed && error?.message.contains("bomb") == true)
  }

  @Test func coreMLIsRefusedWithTheReason() async throws {
    let entries = [TestArchive.Entry.file("sd/Unet.mlmodelc/weights/weight.bin", noise(10)), .file("sd/vocab.json", noise(5))]
    let error = await #expect(throws: RegistryError.self) { _ = try await download(entries) }
    #expect(error?.code == .notSupported && error?.message.contains("sd15") == true)

    let count = store.server.requests.count
    try registry.registerModel(
      id: "c", name: "c", url: store.server.url("/archive"), framework: .coreml, modality: .imageGeneration,
      artifactType: .archive(.zip, structure: .nestedDirectory))
    #expect(await code { try await registry.downloadModel("c") } == .notSupported)
    #expect(store.server.requests.count == count)
  }

  @Test func whatIsntAnArchiveOrIsDamagedIsRefused() async throws {
    for data in [noise(1000), Data(), ZipBuilder.archive([]), ZipBuilder.archive(Self.model).prefix(100_000)] {
      store.server.put("/d.zip", ServedFile(data))
      try registry.registerModel(id: "d", name: "d", url: store.server.url("/d.zip"), framework: .diffusers)
      let found = await code { try await registry.downloadModel("d") }
      #expect(found == .extractionFailed || found == .unsupportedArchive, "\(data.count)")
      #expect(try registry.model("d").localPath == nil)
    }
  }
}
