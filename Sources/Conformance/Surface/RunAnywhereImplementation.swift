import Foundation
public import GenBackend
public import RunAnywhere

/// The adapter for this repository's own `RunAnywhere`; also the example for others.
public struct RunAnywhereImplementation: DiffusionImplementation {
  private let session: DiffusionSession

  /// Judges a session.
  public init(session: DiffusionSession) { self.session = session }

  /// All but variants with defaults of their own, of which it has none.
  public var capabilities: Set<Surface.Capability> { Set(Surface.Capability.allCases).subtracting([.distilledVariants]) }

  /// A configuration that was made without arguments.
  public var defaultConfiguration: Surface.Configuration {
    let configuration = DiffusionConfiguration()
    return Surface.Configuration(
      variant: Surface.Variant(rawValue: configuration.modelVariant.rawValue) ?? .sd15,
      checksSafety: configuration.enableSafetyChecker, reducesMemory: configuration.reduceMemory)
  }

  /// Options that were made from a prompt alone.
  public func defaultOptions(prompt: String) -> Surface.Options {
    let made = DiffusionGenerationOptions(prompt: prompt)
    var options = Surface.Options(prompt: made.prompt)
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

  /// The sizes of a variant.
  public func recommendedSizes(_ variant: Surface.Variant) -> [ImageSize]? {
    DiffusionModelVariant(rawValue: variant.rawValue)?.recommendedSizes
  }

  /// Loads a model.
  public func load(path: String, id: String, name: String, configuration: Surface.Configuration) async throws {
    try await session.load(
      modelPath: path, modelId: id, modelName: name,
      configuration: DiffusionConfiguration(
        modelVariant: DiffusionModelVariant(rawValue: configuration.variant.rawValue) ?? .sd15,
        enableSafetyChecker: configuration.checksSafety, reduceMemory: configuration.reducesMemory))
  }

  /// Whether a model is loaded.
  public var isLoaded: Bool { get async { session.isModelLoaded } }

  /// The id of the loaded model.
  public var loadedID: String? { get async { session.currentModelID } }

  /// Unloads the model.
  public func unload() async throws { try await session.unload() }

  /// Makes an image.
  public func generate(
    prompt: String, options: Surface.Options, onProgress: @escaping @Sendable (Surface.Update) -> Bool
  ) async throws -> Surface.Result {
    let result = try await session.generate(prompt: prompt, options: translate(options)) { update in
      onProgress(translate(update))
    }
    return translate(result)
  }

  /// Makes an image, told as a stream.
  public func stream(prompt: String, options: Surface.Options) throws -> AsyncThrowingStream<Surface.Event, any Error>? {
    let events = session.stream(prompt: prompt, options: translate(options))
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          for try await event in events { continuation.yield(translate(event)) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func translate(_ event: DiffusionEvent) -> Surface.Event {
    switch event {
    case .started: .started
    case .progress(let update): .progress(translate(update))
    case .completed(let result): .completed(translate(result))
    }
  }

  /// Cancels the running generation.
  public func cancel() async throws { session.cancel() }

  /// A thrown error by its code.
  public func failure(of error: any Error) -> Surface.Failure {
    guard let error = error as? SDKError else { return Surface.Failure(.other("\(type(of: error))"), message: "\(error)") }
    let code: Surface.Code =
      switch error.code {
      case .notInitialized: .notInitialized
      case .modelNotFound: .modelNotFound
      case .modelLoadFailed: .modelLoadFailed
      case .invalidInput: .invalidInput
      case .notSupported: .notSupported
      case .busy: .busy
      case .cancelled: .cancelled
      case .outOfMemory: .outOfMemory
      case .processingFailed: .processingFailed
      default: .other(error.code.rawValue)
      }
    return Surface.Failure(code, category: error.category.rawValue, message: error.message)
  }

  private func translate(_ options: Surface.Options) -> DiffusionGenerationOptions {
    let made = DiffusionGenerationOptions(prompt: options.prompt)
    let mode: DiffusionMode =
      switch options.mode {
      case .textToImage: .textToImage
      case .imageToImage: .imageToImage
      case .inpainting: .inpainting
      }
    return DiffusionGenerationOptions(
      prompt: options.prompt, width: options.width.map { UInt32(clamping: $0) } ?? made.width,
      height: options.height.map { UInt32(clamping: $0) } ?? made.height, steps: options.steps ?? made.steps,
      guidanceScale: options.guidanceScale ?? made.guidanceScale, negativePrompt: options.negativePrompt, seed: options.seed,
      scheduler: options.scheduler.map { DiffusionScheduler(rawValue: $0) }, mode: mode, inputImage: options.image,
      maskImage: options.mask, strength: options.strength ?? made.strength, previewStride: options.previewStride,
      imageCount: options.imageCount ?? made.imageCount)
  }

  private func translate(_ update: DiffusionProgressUpdate) -> Surface.Update {
    Surface.Update(
      progress: update.progress, step: update.currentStep, total: update.totalSteps, preview: update.previewImage)
  }

  private func translate(_ result: DiffusionResult) -> Surface.Result {
    var translated = Surface.Result(
      images: result.images.map { image in
        Surface.Image(data: image.data, safety: Surface.Safety(rawValue: image.safety.rawValue), seed: image.seedUsed)
      }, width: Int(result.width), height: Int(result.height), milliseconds: result.generationTimeMs)
    translated.mediaType = result.mediaType
    translated.scheduler = result.scheduler
    translated.steps = result.stepsRun
    translated.guidanceScale = result.guidanceScale
    translated.warnings = result.warnings
    return translated
  }
}
