import Conformance
import ConformanceDoubles
import Foundation
import Imaging
import ReferenceEngine
import RunAnywhere
import Tensors
import TestSupport
import Testing

/// The documentation's code for vision-language models, over the small model and a server of the loopback.
extension DocumentationTests {
  /// A view model in the documentation's shape.
  @MainActor final class VLMViewModel {
    var selectedImage: Data?
    var prompt = "Describe this image in detail."
    var response = ""
    var isModelLoaded = false
    var loadingStatus = "Not loaded"
    var maxTokens = 8

    func loadModel() async {
      loadingStatus = "Loading model..."
      do {
        let models = try await RunAnywhere.availableModels()
        guard let vlmModel = models.first(where: { $0.id == "smolvlm-256m-instruct" }) else {
          loadingStatus = "Model not registered"
          return
        }
        if vlmModel.localPath == nil {
          try await RunAnywhere.downloadModel(vlmModel.id) { progress in
            Task { @MainActor in self.loadingStatus = "Downloading: \(Int(progress * 100))%" }
          }
        }
        try await RunAnywhere.loadVLMModel(model: vlmModel)
        isModelLoaded = await RunAnywhere.isVLMModelLoaded
        loadingStatus = isModelLoaded ? "Ready" : "Failed to load"
      } catch {
        loadingStatus = "Error: \(error.localizedDescription)"
      }
    }

    func show(_ image: Data) { selectedImage = image }

    func analyzeImage() async {
      guard let pixels = selectedImage else { return }
      do {
        let image = VLMImage(rgbPixels: pixels, width: 24, height: 16)
        let result = try await RunAnywhere.processImageStream(image: image, prompt: prompt, maxTokens: maxTokens)
        for try await token in result.stream { await MainActor.run { response += token } }
      } catch {
        response = "Error: \(error.localizedDescription)"
      }
    }
  }

  private func analyzeMultipleImages(_ images: [VLMImage], prompt: String) async throws -> [String] {
    var results: [String] = []
    for image in images {
      let result = try await RunAnywhere.processImageStream(image: image, prompt: prompt, maxTokens: 6)
      var text = ""
      for try await token in result.stream { text += token }
      results.append(text)
    }
    return results
  }

  private func message(_ body: @Sendable () async throws -> Void) async -> String {
    do {
      try await body()
      return "success"
    } catch let error as SDKError {
      return switch error.code {
      case .modelNotFound: "VLM model not found — ensure both GGUF files are downloaded"
      case .notInitialized: "Load a VLM model before calling processImageStream"
      case .processingFailed: "Image processing failed: \(error.message)"
      case .cancelled: "Generation was cancelled"
      default: "VLM error: \(error)"
      }
    } catch {
      return "\(error)"
    }
  }

  private static func pixels(_ seed: Int) -> Data { Data((0..<(24 * 16 * 3)).map { UInt8(truncatingIfNeeded: $0 &* seed) }) }

  @Test func theVisionModelOfTheDocumentation() async throws {
    let (folder, server) = (try TemporaryFolder(), try ModelServer())
    defer { server.stop() }
    RunAnywhere.configure(backend: try ReferenceBackend(options: .init(threads: 2)), registry: ModelRegistry(folder: folder.url))
    let names = ["SmolVLM-256M-Instruct-Q8_0.gguf": "model.gguf", "mmproj-SmolVLM-256M-Instruct-f16.gguf": "mmproj.gguf"]
    for (name, file) in names {
      let content = try Data(contentsOf: Fixtures.folder.appendingPathComponent("Models/smolvlm/\(file)"))
      server.put("/" + name, ServedFile(content))
    }
    RunAnywhere.registerMultiFileModel(
      id: "smolvlm-256m-instruct",
      name: "SmolVLM 256M Instruct",
      files: [
        ModelFileDescriptor(
          url: server.url("/SmolVLM-256M-Instruct-Q8_0.gguf"), filename: "SmolVLM-256M-Instruct-Q8_0.gguf"),
        ModelFileDescriptor(
          url: server.url("/mmproj-SmolVLM-256M-Instruct-f16.gguf"), filename: "mmproj-SmolVLM-256M-Instruct-f16.gguf"),
      ],
      framework: .llamaCpp,
      modality: .multimodal,
      memoryRequirement: 365_000_000
    )
    let image = VLMImage(rgbPixels: Self.pixels(7), width: 24, height: 16)
    #expect(
      await message { _ = try await RunAnywhere.processImageStream(image: image, prompt: "Describe this", maxTokens: 8) }
        == "Load a VLM model before calling processImageStream")
    let listed = try #require(try await RunAnywhere.availableModels().first)
    #expect(
      await message { try await RunAnywhere.loadVLMModel(model: listed) }
        == "VLM model not found — ensure both GGUF files are downloaded")

    let app = VLMViewModel()
    await app.show(Self.pixels(7))
    await app.loadModel()
    let status = await app.loadingStatus
    #expect(await app.isModelLoaded, "\(status)")
    await app.analyzeImage()
    let response = await app.response
    #expect(!response.isEmpty && !response.hasPrefix("Error"), "\(response)")

    let (text, metrics) = try await RunAnywhere.processImage(
      image: image, prompt: "Describe this image in detail.", maxTokens: 8)
    #expect(text == response && metrics.completionTokens <= 8 && metrics.promptTokens ?? 0 > 0)
    let batch = try await analyzeMultipleImages(
      [image, VLMImage(rgbPixels: Self.pixels(31), width: 24, height: 16), image], prompt: "what")
    #expect(batch.count == 3 && batch[0] == batch[2])
    #expect(
      await message {
        _ = try await RunAnywhere.processImageStream(
          image: VLMImage(rgbPixels: Self.pixels(7), width: 24, height: 17), prompt: "x", maxTokens: 8)
      }.hasPrefix("VLM error: invalidImage"))
    await RunAnywhere.cancelVLMGeneration()

    // A loaded model's files stay.
    #expect(await message { try await RunAnywhere.deleteStoredModel(listed.id) }.hasPrefix("VLM error: busy"))
    try await RunAnywhere.unloadVLMModel()
    try await RunAnywhere.deleteStoredModel(listed.id)
    #expect(try await RunAnywhere.availableModels().first?.localPath == nil)
  }

  @Test func aDiffusionModelIsRegisteredAndDownloaded() async throws {
    let (folder, server) = (try TemporaryFolder(), try ModelServer())
    defer { server.stop() }
    RunAnywhere.configure(backend: ScriptedBackend(), registry: ModelRegistry(folder: folder.url))
    RunAnywhere.registerModel(
      id: "sd15-coreml-palettized",
      name: "Stable Diffusion 1.5",
      url: URL(string: "https://huggingface.co/apple/coreml-stable-diffusion-v1-5-palettized/resolve/main/coreml.zip")!,
      framework: .coreml,
      modality: .imageGeneration,
      artifactType: .archive(.zip, structure: .nestedDirectory),
      memoryRequirement: 2_000_000_000
    )
    let model = try #require(try await RunAnywhere.availableModels().first(where: { $0.id == "sd15-coreml-palettized" }))
    #expect(model.framework == .coreml && model.modality == .imageGeneration && model.memoryRequirement == 2_000_000_000)
    #expect(
      await message { try await RunAnywhere.downloadModel(model.id) { _ in } }.hasPrefix("VLM error: notSupported"))

    server.put(
      "/sd.zip",
      ServedFile(ZipBuilder.archive([("sd/model_index.json", Data("{}".utf8)), ("sd/w.bin", Data(count: 999))])))
    RunAnywhere.registerModel(
      id: "sd15", name: "Stable Diffusion 1.5", url: server.url("/sd.zip"), framework: .diffusers, modality: .imageGeneration,
      artifactType: .archive(.zip, structure: .nestedDirectory), memoryRequirement: 2_000_000_000)
    try await RunAnywhere.downloadModel("sd15") { progress in #expect((0...1).contains(progress)) }
    let here = try #require(try await RunAnywhere.availableModels().first { $0.id == "sd15" })
    #expect(here.localPath!.lastPathComponent == "sd")
    #expect(try await RunAnywhere.storageInfo().models.map(\.id) == ["sd15"])
    let refused = RunAnywhere.registerModel(id: "", name: "x", url: server.url("/x"), framework: .diffusers)
    #expect(throws: SDKError.self) { try refused.get() }
  }
}
