public import Conformance
import Foundation
public import RunAnywhere

extension VisionImplementation {
  /// The documented calls of this repository's `RunAnywhere` for vision-language models; also the example for others.
  public static func runAnywhere(_ sdk: SDKInstance) -> VisionImplementation {
    VisionImplementation(
      capabilities: Set(VisionSurface.Capability.allCases),
      // `loadVLMModel(model:)` takes a `ModelDescriptor`.
      loadNeedsDescriptor: true,
      register: { model in
        _ = try await sdk.calls {
          try RunAnywhere.registerMultiFileModel(
            id: model.id, name: model.id, files: descriptors(model),
            framework: ModelFramework(rawValue: model.framework) ?? .unknown,
            modality: ModelModality(rawValue: model.modality) ?? .language, memoryRequirement: 1_000_000
          ).get()
        }
      },
      download: { id in try await sdk.calls { try await RunAnywhere.downloadModel(id) } },
      load: { model in
        try await sdk.calls {
          // The descriptor that is listed, or one made by hand when it isn't.
          let listed = try await RunAnywhere.availableModels().first { $0.id == model.id }
          try await RunAnywhere.loadVLMModel(
            model: listed
              ?? ModelDescriptor(
                id: model.id, name: model.id, framework: .llamaCpp, modality: .multimodal, artifactType: .multiFile,
                files: descriptors(model), localPath: model.files.first?.url))
        }
      },
      isLoaded: { await sdk.calls { await RunAnywhere.isVLMModelLoaded } },
      loadedID: { await sdk.calls { await RunAnywhere.currentVLMModelId } },
      unload: { try await sdk.calls { try await RunAnywhere.unloadVLMModel() } },
      process: { image, prompt, maxTokens, options in
        let made = VLMGenerationOptions()
        let result = try await sdk.calls {
          try await RunAnywhere.processImageStream(
            image: translated(image), prompt: prompt, maxTokens: maxTokens,
            options: VLMGenerationOptions(
              temperature: options.temperature ?? made.temperature, topP: options.topP ?? made.topP,
              topK: options.topK ?? made.topK, seed: options.seed ?? made.seed))
        }
        return VisionSurface.Answer(stream: result.stream) {
          let metrics = await result.metrics
          return VisionSurface.Metrics(
            promptTokens: metrics.promptTokens, completionTokens: metrics.completionTokens,
            firstTokenMs: metrics.timeToFirstTokenMs, totalMs: metrics.totalTimeMs, tokensPerSecond: metrics.tokensPerSecond,
            finishReason: metrics.finishReason.rawValue)
        }
      },
      wholeAnswer: { image, prompt, maxTokens in
        try await sdk.calls {
          try await RunAnywhere.processImage(image: translated(image), prompt: prompt, maxTokens: maxTokens).text
        }
      },
      cancel: { await sdk.calls { await RunAnywhere.cancelVLMGeneration() } },
      failure: { SDKFailure(translating: $0) })
  }
}

private func descriptors(_ model: VisionSurface.Model) -> [ModelFileDescriptor] {
  model.files.map { ModelFileDescriptor(url: $0.url, filename: $0.name) }
}

private func translated(_ image: VisionSurface.Image) -> VLMImage {
  switch image {
  case .rgb(let data, let width, let height): VLMImage(rgbPixels: data, width: width, height: height)
  case .rgba(let data, let width, let height): VLMImage(rgbaPixels: data, width: width, height: height)
  case .encoded(let data): VLMImage(data: data)
  case .file(let url): VLMImage(file: url)
  }
}
