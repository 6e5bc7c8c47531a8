public import Conformance
import Foundation
import GenBackend
public import RunAnywhere

extension DiffusionImplementation {
  /// The documented calls of this repository's `RunAnywhere` for images; also the example for others.
  public static func runAnywhere(_ sdk: SDKInstance) -> DiffusionImplementation {
    let configuration = DiffusionConfiguration()
    return DiffusionImplementation(
      // All but variants with defaults of their own, of which it has none.
      capabilities: Set(DiffusionSurface.Capability.allCases).subtracting([.distilledVariants]),
      defaultConfiguration: DiffusionSurface.Configuration(
        variant: DiffusionSurface.Variant(rawValue: configuration.modelVariant.rawValue) ?? .sd15,
        checksSafety: configuration.enableSafetyChecker, reducesMemory: configuration.reduceMemory),
      defaultOptions: { defaults(of: DiffusionGenerationOptions(prompt: $0)) },
      recommendedSizes: { DiffusionModelVariant(rawValue: $0.rawValue)?.recommendedSizes },
      load: { path, id, name, configuration in
        try await sdk.calls {
          try await RunAnywhere.loadDiffusionModel(
            modelPath: path, modelId: id, modelName: name,
            configuration: DiffusionConfiguration(
              modelVariant: DiffusionModelVariant(rawValue: configuration.variant.rawValue) ?? .sd15,
              enableSafetyChecker: configuration.checksSafety, reduceMemory: configuration.reducesMemory))
        }
      },
      isLoaded: { await sdk.calls { await RunAnywhere.isDiffusionModelLoaded } },
      loadedID: { await sdk.calls { await RunAnywhere.currentDiffusionModelId } },
      modelCapabilities: { await sdk.calls { Set(await RunAnywhere.diffusionCapabilities.map(\.rawValue)) } },
      unload: { try await sdk.calls { try await RunAnywhere.unloadDiffusionModel() } },
      generate: { prompt, options, onProgress in
        try await sdk.calls {
          translated(
            try await RunAnywhere.generateImage(prompt: prompt, options: translated(options)) { onProgress(translated($0)) })
        }
      },
      stream: { prompt, options in
        let events = try await sdk.calls {
          try RunAnywhere.generateImageStream(prompt: prompt, options: translated(options))
        }
        return AsyncThrowingStream { continuation in
          let task = Task {
            do {
              for try await event in events { continuation.yield(translated(event)) }
              continuation.finish()
            } catch {
              continuation.finish(throwing: error)
            }
          }
          continuation.onTermination = { _ in task.cancel() }
        }
      },
      cancel: { try await sdk.calls { try await RunAnywhere.cancelImageGeneration() } },
      failure: { SDKFailure(translating: $0) })
  }
}

private func defaults(of made: DiffusionGenerationOptions) -> DiffusionSurface.Options {
  var options = DiffusionSurface.Options(prompt: made.prompt)
  options.width = Int(made.width)
  options.height = Int(made.height)
  options.steps = made.steps
  options.guidanceScale = made.guidanceScale
  options.seed = made.seed
  options.scheduler = made.scheduler?.rawValue
  options.previewStride = made.previewStride
  options.imageCount = made.imageCount
  return options
}

private func translated(_ event: DiffusionEvent) -> DiffusionSurface.Event {
  switch event {
  case .started: .started
  case .progress(let update): .progress(translated(update))
  case .completed(let result): .completed(translated(result))
  }
}

private func translated(_ options: DiffusionSurface.Options) -> DiffusionGenerationOptions {
  let made = DiffusionGenerationOptions(prompt: options.prompt)
  return DiffusionGenerationOptions(
    prompt: options.prompt, width: options.width.map { UInt32(clamping: $0) } ?? made.width,
    height: options.height.map { UInt32(clamping: $0) } ?? made.height, steps: options.steps ?? made.steps,
    guidanceScale: options.guidanceScale ?? made.guidanceScale, negativePrompt: options.negativePrompt, seed: options.seed,
    scheduler: options.scheduler.map { DiffusionScheduler(rawValue: $0) },
    mode: DiffusionMode(rawValue: options.mode.rawValue) ?? made.mode, inputImage: options.image,
    maskImage: options.mask, strength: options.strength ?? made.strength, previewStride: options.previewStride,
    imageCount: options.imageCount ?? made.imageCount)
}

private func translated(_ update: DiffusionProgressUpdate) -> DiffusionSurface.Update {
  DiffusionSurface.Update(
    progress: update.progress, step: update.currentStep, total: update.totalSteps, preview: update.previewImage)
}

private func translated(_ result: DiffusionResult) -> DiffusionSurface.Result {
  var own = DiffusionSurface.Result(
    images: result.images.map { image in
      DiffusionSurface.Image(
        data: image.data, safety: DiffusionSurface.Safety(rawValue: image.safety.rawValue), seed: image.seedUsed)
    }, width: Int(result.width), height: Int(result.height), milliseconds: result.generationTimeMs)
  own.mediaType = result.mediaType
  own.scheduler = result.scheduler
  own.steps = result.stepsRun
  own.guidanceScale = result.guidanceScale
  own.warnings = result.warnings
  return own
}
