import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import RunAnywhere
import Tensors
import TestSupport
import Testing

/// What the checks of the catalogue don't look at: the session's own promises.
struct DiffusionSessionTests {
  private func loaded(_ backend: ScriptedBackend = ScriptedBackend(), configuration: DiffusionConfiguration = .init())
    async throws
    -> DiffusionSession
  {
    let session = DiffusionSession(backend: backend) { backend.clock.nowNs }
    try await session.load(modelPath: "scripted:/sd15", modelId: "a", modelName: "A", configuration: configuration)
    return session
  }

  private func expect(_ code: SDKError.Code, _ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation)
    async
  {
    let error = await #expect(throws: SDKError.self, sourceLocation: sourceLocation) { try await body() }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(error?.message.isEmpty == false, sourceLocation: sourceLocation)
  }

  @Test func theOldModelStaysWhenALoadFails() async throws {
    let backend = ScriptedBackend()
    let session = try await loaded(backend)
    await expect(.modelNotFound) {
      try await session.load(modelPath: "scripted:/none", modelId: "b", modelName: "B", configuration: .init())
    }
    #expect(session.isModelLoaded && session.currentModelID == "a")
    #expect(backend.loadedModels == 1)
  }

  @Test func theOldModelGoesWhenALoadSucceeds() async throws {
    let backend = ScriptedBackend()
    let session = try await loaded(backend)
    try await session.load(
      modelPath: "scripted:/sdxl", modelId: "b", modelName: "B", configuration: .init(modelVariant: .sdxl))
    #expect(session.currentModelID == "b")
    #expect(session.supportedSizes == [ImageSize(width: 1024, height: 1024)])
    #expect(backend.loadedModels == 1)
  }

  @Test func aModelOfAnotherSizeIsRefusedAndFreed() async throws {
    let backend = ScriptedBackend()
    let session = DiffusionSession(backend: backend)
    await expect(.modelLoadFailed) {
      try await session.load(
        modelPath: "scripted:/sd15", modelId: "x", modelName: "X", configuration: .init(modelVariant: .sdxl))
    }
    #expect(!session.isModelLoaded && backend.loadedModels == 0)
  }

  @Test func aCancelledLoadLeavesNothing() async throws {
    let backend = ScriptedBackend()
    let session = DiffusionSession(backend: backend)
    let load = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await session.load(modelPath: "scripted:/sd15", modelId: "x", modelName: "X", configuration: .init())
    }
    await expect(.cancelled) { try await load.value }
    #expect(!session.isModelLoaded && backend.loadedModels == 0)
  }

  @Test func loadingDuringAGenerationIsBusy() async throws {
    let backend = ScriptedBackend()
    let session = try await loaded(backend)
    let gate = backend.pauseNextRun(afterSteps: 1)
    let (started, start) = AsyncStream<Void>.makeStream()
    let run = Task {
      try await session.generate(prompt: "a", options: .init(prompt: "a")) { _ in
        start.yield()
        return true
      }
    }
    for await _ in started { break }
    await expect(.busy) {
      try await session.load(modelPath: "scripted:/sd15", modelId: "b", modelName: "B", configuration: .init())
    }
    await expect(.busy) { _ = try await session.generate(prompt: "a", options: .init(prompt: "a")) }
    gate.open()
    _ = try await run.value
  }

  @Test func unloadingWithoutAModelDoesNothing() async throws {
    let session = DiffusionSession(backend: ScriptedBackend())
    try await session.unload()
    try await session.unload()
    session.cancel()
    #expect(session.capabilities.isEmpty && session.supportedSizes.isEmpty)
  }

  @Test(arguments: [
    (DiffusionGenerationOptions(prompt: "a", mode: .imageToImage), "inputImage"),
    (DiffusionGenerationOptions(prompt: "a", inputImage: Data([1])), "mode"),
    (DiffusionGenerationOptions(prompt: "a", mode: .imageToImage, inputImage: Data([1, 2, 3])), "inputImage"),
    (DiffusionGenerationOptions(prompt: "a", previewStride: 0), "previewStride"),
    (DiffusionGenerationOptions(prompt: "a", imageCount: 0), "imageCount"),
    (DiffusionGenerationOptions(prompt: "a", imageCount: 9), "imageCount"),
  ])
  func contradictionsAreRefusedByName(_ options: DiffusionGenerationOptions, _ name: String) async throws {
    let session = try await loaded()
    let error = await #expect(throws: SDKError.self) { try await session.generate(prompt: "a", options: options) }
    #expect(error?.code == .invalidInput)
    #expect(error?.message.contains(name) == true, "\(String(describing: error))")
  }

  @Test func aMaskNeedsTheModeInpainting() async throws {
    let session = try await loaded()
    let image = Data(try PNGFile.encode(Bitmap(width: 8, height: 8, samples: [UInt8](repeating: 9, count: 192))))
    await expect(.invalidInput) {
      _ = try await session.generate(
        prompt: "a", options: .init(prompt: "a", mode: .imageToImage, inputImage: image, maskImage: image))
    }
    await expect(.invalidInput) {
      _ = try await session.generate(prompt: "a", options: .init(prompt: "a", mode: .inpainting, inputImage: image))
    }
  }

  @Test func stepsOfABatchCountThroughAllImages() async throws {
    let session = try await loaded()
    let (updates, update) = AsyncStream<DiffusionProgressUpdate>.makeStream()
    let result = try await session.generate(prompt: "a", options: .init(prompt: "a", steps: 10, imageCount: 2)) {
      update.yield($0)
      return true
    }
    update.finish()
    var steps: [Int] = []
    for await update in updates {
      #expect(update.totalSteps == 20)
      steps.append(update.currentStep)
    }
    #expect(steps == Array(1...20))
    #expect(result.images.count == 2)
  }

  @Test func aFilteredImageHasNoBytes() async throws {
    var script = Script()
    script.flaggedImages = [0]
    let session = try await loaded(ScriptedBackend(script: script))
    let result = try await session.generate(prompt: "a", options: .init(prompt: "a"))
    #expect(result.safety == .filtered && result.imageData.isEmpty && result.images[0].data == nil)
  }

  @Test func everyErrorOfAnEngineHasACodeOfItsOwn() async throws {
    let backend = ScriptedBackend()
    let session = try await loaded(backend)
    var codes: Set<SDKError.Code> = []
    for code in BackendError.Code.allCases {
      backend.script.failure = (1, BackendError(code, "why"))
      let error = await #expect(throws: SDKError.self) { try await session.generate(prompt: "a", options: .init(prompt: "a")) }
      #expect(error?.errorDescription == "why")
      if let error { codes.insert(error.code) }
    }
    #expect(codes.count == BackendError.Code.allCases.count)
  }

  @Test func modelsInWrappedFoldersAreFound() async throws {
    let folder = try TemporaryFolder()
    let inner = folder.url.appendingPathComponent("a/b")
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
    try Data(#"{"scripted": "sd15"}"#.utf8).write(to: inner.appendingPathComponent("model_index.json"))
    let backend = ScriptedBackend()
    let session = DiffusionSession(backend: backend)
    try await session.load(modelPath: folder.url.path, modelId: "x", modelName: "X", configuration: .init())
    #expect(backend.loads.last?.path == inner.path)
    // Two models in one folder: which one is meant can't be told.
    let second = folder.url.appendingPathComponent("c")
    try FileManager.default.createDirectory(at: second, withIntermediateDirectories: true)
    try Data(#"{"scripted": "sd15"}"#.utf8).write(to: second.appendingPathComponent("model_index.json"))
    let third = folder.url.appendingPathComponent("d")
    try FileManager.default.copyItem(at: second, to: third)
    await expect(.modelNotFound) {
      try await session.load(modelPath: folder.url.path, modelId: "y", modelName: "Y", configuration: .init())
    }
  }
}
