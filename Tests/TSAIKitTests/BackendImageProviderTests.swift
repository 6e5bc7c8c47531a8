import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import Kernels
import ReferenceEngine
import TSAIKit
import Tensors
import TestSupport
import Testing

/// The provider over an engine: real images, and failures on demand.
struct BackendImageProviderTests {
  private func scripted(_ script: Script = Script(), path: String = "scripted:/sd15", checks: Bool = false) async throws -> (
    ScriptedBackend, TSAIContext, TSAIKit
  ) {
    let backend = ScriptedBackend(script: script)
    let model = try await backend.load(
      LoadRequest(path: path, safety: checks ? .required : .off), control: GenerationControl())
    let (kit, context) = activated(BackendImageProvider(backend: backend, model: model, seed: 7))
    return (backend, context, kit)
  }

  @Test func theEngineInTheBoxMakesDifferentImagesForDifferentStyles() async throws {
    let backend = try ReferenceBackend(
      options: ReferenceBackend.Options(
        threads: 2, clipVocabulary: Fixtures.folder.appendingPathComponent("Models/clip-vocabulary")))
    let path = Fixtures.folder.appendingPathComponent("Models/sd15").path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    let (_, context) = activated(BackendImageProvider(backend: backend, model: model, steps: 1, seed: 7))
    let interface = context.imageGeneration
    let styles = try #require(await interface.styles().0)
    #expect(styles.map(\.styleIdentifier).contains("watercolor"))
    var seen: Set<Data> = []
    for style in [nil, "photo", "sketch"] {
      let result = try #require(await interface.images("a boat", config(96, 64, style: style)).result)
      let image = try #require(result.images.first)
      #expect(result.images.count == 1 && image.pixelWidth == 96 && image.pixelHeight == 64)
      let data = try image.pngData()
      #expect(try PNGFile.decode([UInt8](data)) == image.bitmap)
      seen.insert(data)
    }
    #expect(seen.count == 3)
  }

  @Test func aStyleChangesThePromptAndTheSizeFollowsTheModel() async throws {
    let (backend, context, _) = try await scripted()
    _ = await context.imageGeneration.styles()
    let told = await context.imageGeneration.images("a boat", config(200, 100, style: "sketch", count: 2))
    let request = try #require(backend.runs.last?.request)
    #expect(request.prompt == "a boat, pencil sketch, hand-drawn, monochrome" && request.negativePrompt == "color")
    #expect(request.imageCount == 2 && request.size == ImageSize(width: 728, height: 360))
    #expect(told.result?.images.map(\.pixelWidth) == [200, 200])
  }

  @Test func withoutBatchesImagesAreMadeOneByOne() async throws {
    var script = Script()
    script.capabilities.remove(.batch)
    let (backend, context, _) = try await scripted(script)
    let told = await context.imageGeneration.images("a boat", config(count: 3))
    #expect(told.result?.images.count == 3 && backend.runs.map(\.request.imageCount) == [1, 1, 1])
    #expect(backend.runs.map(\.request.seed) == [7, 8, 9])
  }

  @Test func filteredImagesAreNeverHandedOut() async throws {
    var script = Script()
    script.flaggedImages = [0]
    let (_, context, _) = try await scripted(script, checks: true)
    #expect(await context.imageGeneration.images("a boat", config(count: 2)).result?.images.count == 1)
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .contentRejected)
  }

  @Test(arguments: [
    (BackendError.Code.outOfMemory, TSAIError.Code.taskFailed), (.processingFailed, .taskFailed), (.busy, .busy),
    (.notLoaded, .providerUnavailable), (.unavailable, .providerUnavailable), (.invalidInput, .invalidParameter),
    (.notSupported, .notSupported), (.cancelled, .cancelled),
  ])
  func failuresOfTheEngineAreTranslated(_ code: BackendError.Code, _ wanted: TSAIError.Code) async throws {
    var script = Script()
    script.failure = (1, BackendError(code, "the engine says so"))
    let (_, context, _) = try await scripted(script)
    let error = try #require(await context.imageGeneration.images("a boat", config()).error)
    #expect(error.code == wanted && error.message == "the engine says so")
  }

  @Test func tasksWaitForTheirTurnAndACancelStopsTheEngine() async throws {
    let (backend, context, _) = try await scripted()
    let gate = backend.pauseNextRun(afterSteps: 2)
    let interface = context.imageGeneration
    let ended = await withTaskGroup(of: (String, Told).self) { group in
      let (ids, continuation) = AsyncStream.makeStream(of: String.self)
      for prompt in ["first", "second", "third"] {
        group.addTask {
          let told = await withCheckedContinuation { done in
            continuation.yield(
              prompt + " "
                + interface.generateImages(prompt: prompt, config: config()) {
                  done.resume(returning: Told(result: $0, error: $1))
                })
          }
          return (prompt, told)
        }
      }
      var identifiers: [String: String] = [:]
      for await word in ids.prefix(3) {
        let parts = word.split(separator: " ").map(String.init)
        identifiers[parts[0]] = parts[1]
      }
      while !backend.isRunning { await Task.yield() }
      let running = backend.runs[0].request.prompt
      interface.cancelImageGeneration(taskId: identifiers[running] ?? "")
      gate.open()
      var ended: [String: Told] = [:]
      for await (prompt, told) in group { ended[prompt] = told }
      #expect(ended[running]?.error?.code == .cancelled)
      return ended
    }
    #expect(ended.values.count { $0.result != nil } == 2)
    // The engine has stopped at a step and taken the others one by one.
    while backend.isRunning { await Task.yield() }
    #expect(backend.runs.count == 3 && backend.runs[0].stepsDone < 20 && backend.runs[0].error?.code == .cancelled)
  }

  @Test func hugeImagesAreRefused() async throws {
    let (backend, context, _) = try await scripted()
    #expect(await context.imageGeneration.images("a boat", config(16384, 1)).error?.code == .invalidParameter)
    #expect(backend.runs.isEmpty)
  }

  @Test func aModelOfTextIsNotSupported() async throws {
    let backend = ScriptedBackend()
    let model = ModelInfo(id: ModelID("t"), variant: "llama", capabilities: [.textGeneration])
    let (_, context) = activated(BackendImageProvider(backend: backend, model: model))
    #expect(!context.supportsAIFeatures(.imageGeneration))
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .notSupported)
  }
}

/// Sizes that a model is asked for.
struct GenerationSizeTests {
  private func model(_ native: [(Int, Int)], multiple: Int) -> ModelInfo {
    ModelInfo(
      id: ModelID("m"), variant: "sd15", capabilities: [.textToImage],
      nativeSizes: native.map { ImageSize(width: $0.0, height: $0.1) }, sizeMultiple: multiple)
  }

  @Test(arguments: [
    ((512, 512), (512, 512)), ((1024, 1024), (512, 512)), ((1, 1), (512, 512)), ((1600, 900), (704, 384)),
    ((900, 1600), (384, 704)), ((10000, 1), (1024, 256)), ((0, -5), (512, 512)), ((Int.max, Int.max), (512, 512)),
  ])
  func theAspectIsKeptAtTheNativeArea(_ asked: (Int, Int), _ wanted: (Int, Int)) {
    let size = model([(512, 512)], multiple: 64).generationSize(for: ImageSize(width: asked.0, height: asked.1))
    #expect(size == ImageSize(width: wanted.0, height: wanted.1))
  }

  @Test func theNearestNativeAreaCounts() {
    let model = model([(768, 768), (512, 512)], multiple: 8)
    #expect(model.generationSize(for: ImageSize(width: 512, height: 512)) == ImageSize(width: 512, height: 512))
    #expect(model.generationSize(for: ImageSize(width: 300, height: 300)) == ImageSize(width: 512, height: 512))
    #expect(model.generationSize(for: ImageSize(width: 2000, height: 2000)) == ImageSize(width: 768, height: 768))
  }

  @Test func sidesAreMultiplesWhateverIsAsked() {
    for multiple in [1, 8, 64] {
      let model = model([(512, 512)], multiple: multiple)
      for width in [1, 17, 333, 4096] {
        for height in [1, 64, 999] {
          let size = model.generationSize(for: ImageSize(width: width, height: height))
          #expect(size.width % multiple == 0 && size.height % multiple == 0 && size.width > 0 && size.height > 0)
          #expect(model.generationSize(for: size).width > 0)
        }
      }
    }
  }
}
