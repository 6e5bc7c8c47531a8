import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import RunAnywhere
import Synchronization
import Tensors
import Testing

/// Code as an app's developer writes it with the documentation at hand; the shared session makes them wait for each other.
@Suite(.serialized) struct DocumentationTests {
  init() { RunAnywhere.configure(backend: ScriptedBackend()) }

  /// A view model in the documentation's shape.
  @MainActor final class ImageGenerator {
    var prompt = "A beautiful sunset over mountains"
    var progress = 0.0
    var currentStep = 0
    var totalSteps = 0
    var statusText = ""
    var generationTime: UInt64 = 0
    var image: Data?
    var isModelLoaded = false

    func loadModel() async {
      do {
        let config = DiffusionConfiguration(modelVariant: .sd15, enableSafetyChecker: true, reduceMemory: true)
        try await RunAnywhere.loadDiffusionModel(
          modelPath: "scripted:/sd15", modelId: "sd15-coreml-palettized", modelName: "Stable Diffusion 1.5",
          configuration: config)
        isModelLoaded = await RunAnywhere.isDiffusionModelLoaded
        statusText = isModelLoaded ? "Ready" : "Failed to load"
      } catch {
        statusText = "Error: \(error.localizedDescription)"
      }
    }

    func generate() async {
      do {
        let options = DiffusionGenerationOptions(prompt: prompt, width: 512, height: 512, steps: 20, guidanceScale: 7.5)
        let result = try await RunAnywhere.generateImage(prompt: prompt, options: options) { [weak self] update in
          Task { @MainActor in
            self?.progress = update.progress
            self?.currentStep = update.currentStep
            self?.totalSteps = update.totalSteps
          }
          return true
        }
        generationTime = result.generationTimeMs
        image = result.imageData
      } catch {
        statusText = "Generation failed: \(error.localizedDescription)"
      }
    }

    func cancel() async { try? await RunAnywhere.cancelImageGeneration() }
  }

  @Test @MainActor func aViewModelLoadsAndGenerates() async throws {
    let model = ImageGenerator()
    await model.generate()
    #expect(model.statusText.hasPrefix("Generation failed: ") && model.statusText.contains("load"))
    await model.loadModel()
    #expect(model.statusText == "Ready")
    #expect(await RunAnywhere.currentDiffusionModelId == "sd15-coreml-palettized")
    await model.generate()
    #expect(model.generationTime > 0)
    let image = try ImageFile.decode([UInt8](try #require(model.image)))
    #expect(image.width == 512 && image.height == 512)
    await model.cancel()
    try await RunAnywhere.unloadDiffusionModel()
    #expect(await !RunAnywhere.isDiffusionModelLoaded)
  }

  @Test func theBasicUsageCompilesAsDocumented() async throws {
    try await RunAnywhere.loadDiffusionModel(
      modelPath: "scripted:/sd15", modelId: "sd15-coreml-palettized", modelName: "Stable Diffusion 1.5",
      configuration: DiffusionConfiguration(modelVariant: .sd15))
    let options = DiffusionGenerationOptions(
      prompt: "A beautiful sunset over mountains", width: 512, height: 512, steps: 20, guidanceScale: 7.5)
    let lines = Mutex<[String]>([])
    let result = try await RunAnywhere.generateImage(prompt: "A beautiful sunset over mountains", options: options) { update in
      lines.withLock { $0.append("Step \(update.currentStep)/\(update.totalSteps): \(Int(update.progress * 100))%") }
      return true
    }
    #expect(lines.withLock { $0.count } == 20)
    #expect(lines.withLock { $0.last } == "Step 20/20: 100%")
    #expect(result.imageData.starts(with: [0x89, 0x50, 0x4e, 0x47]))
    let (width, height, time): (UInt32, UInt32, UInt64) = (result.width, result.height, result.generationTimeMs)
    #expect(width == 512 && height == 512 && time > 0)
  }

  /// The documentation's switch over the codes.
  private func message(of error: SDKError) -> String {
    switch error.code {
    case .notInitialized: "Load a diffusion model before generating images"
    case .modelNotFound: "Diffusion model not found"
    case .cancelled: "Image generation was cancelled"
    case .processingFailed: "Generation failed: \(error.message)"
    case .outOfMemory: "Not enough memory"
    default: "Diffusion error: \(error)"
    }
  }

  private func message(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "success"
    } catch let error as SDKError {
      return message(of: error)
    } catch {
      return "\(error)"
    }
  }

  @Test func everyCodeOfTheDocumentationCanBeSwitchedOver() async throws {
    let backend = ScriptedBackend()
    RunAnywhere.configure(backend: backend)
    let options = DiffusionGenerationOptions(prompt: PromptTemplates.photorealistic("a dog"), steps: 25, guidanceScale: 8)
    func generate(_ handler: @escaping @Sendable (DiffusionProgressUpdate) -> Bool = { _ in true }) async throws {
      _ = try await RunAnywhere.generateImage(prompt: options.prompt, options: options, progressHandler: handler)
    }
    func load(_ path: String) async throws {
      try await RunAnywhere.loadDiffusionModel(
        modelPath: path, modelId: "m", modelName: "M", configuration: DiffusionConfiguration())
    }
    #expect(await message { try await generate() } == "Load a diffusion model before generating images")
    #expect(await message { try await load("scripted:/none") } == "Diffusion model not found")
    #expect(await message { try await load("scripted:/huge") } == "Not enough memory")
    try await load("scripted:/sd15")
    #expect(await message { try await generate { $0.currentStep < 3 } } == "Image generation was cancelled")
    backend.script.failure = (2, BackendError(.processingFailed, "step 2"))
    #expect(await message { try await generate() } == "Generation failed: step 2")
    backend.script.failure = nil
    let wrong = await message {
      _ = try await RunAnywhere.generateImage(
        prompt: "x", options: DiffusionGenerationOptions(prompt: "x", steps: 51)
      ) { _ in true }
    }
    #expect(wrong.hasPrefix("Diffusion error: invalidInput: steps: expected 10...50, found 51"))
  }

  @Test func cancellingFromOutsideEndsTheGeneration() async throws {
    let backend = ScriptedBackend()
    RunAnywhere.configure(backend: backend)
    try await RunAnywhere.loadDiffusionModel(modelPath: "scripted:/sd15", modelId: "m", modelName: "M")
    let gate = backend.pauseNextRun(afterSteps: 2)
    let (steps, step) = AsyncStream<Int>.makeStream()
    let generation = Task {
      try await RunAnywhere.generateImage(prompt: "a boat", options: DiffusionGenerationOptions(prompt: "a boat")) { update in
        step.yield(update.currentStep)
        return true
      }
    }
    for await number in steps where number == 2 { break }
    try await RunAnywhere.cancelImageGeneration()
    gate.open()
    let error = await #expect(throws: SDKError.self) { try await generation.value }
    #expect(error?.code == .cancelled && error?.category == .cancellation)
    _ = try await RunAnywhere.generateImage(prompt: "a boat", options: DiffusionGenerationOptions(prompt: "a boat")) { _ in true }
  }

  @Test func templatesEndAsDocumented() {
    #expect(
      PromptTemplates.photorealistic("a cat")
        == "a cat, photorealistic, 8k, highly detailed, professional photography, natural lighting")
    #expect(
      PromptTemplates.illustration("a cat")
        == "a cat, digital illustration, vibrant colors, clean lines, artstation trending")
    #expect(
      PromptTemplates.portrait("a cat")
        == "a cat, portrait photography, shallow depth of field, studio lighting, sharp focus")
  }
}
