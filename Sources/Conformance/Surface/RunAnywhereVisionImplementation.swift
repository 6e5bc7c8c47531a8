import Foundation
public import ModelRegistry
public import RunAnywhere

/// The adapter for this repository's own vision part of `RunAnywhere`; also the example for others.
public struct RunAnywhereVisionImplementation: VisionImplementation {
  private let session: VLMSession
  private let models: ModelLibrary

  /// Judges a session and the store that it takes models from.
  public init(session: VLMSession, registry: ModelRegistry) {
    self.session = session
    models = ModelLibrary(registry: registry)
  }

  /// All of them.
  public var capabilities: Set<VisionSurface.Capability> { Set(VisionSurface.Capability.allCases) }
  /// `loadVLMModel(model:)` takes a `ModelDescriptor`.
  public var loadNeedsDescriptor: Bool { true }

  /// Registers a model of several files.
  public func register(_ model: VisionSurface.Model) async throws {
    try models.registerMultiFile(
      id: model.id, name: model.id, files: descriptors(model), framework: ModelFramework(rawValue: model.framework) ?? .unknown,
      modality: ModelModality(rawValue: model.modality) ?? .language, memoryRequirement: 1_000_000)
  }

  private func descriptors(_ model: VisionSurface.Model) -> [ModelFileDescriptor] {
    model.files.map { ModelFileDescriptor(url: $0.url, filename: $0.name) }
  }

  /// Downloads it.
  public func download(_ id: String) async throws { try await models.download(id) }

  /// Loads a model by the descriptor that is listed, or by one made by hand when it isn't.
  public func load(_ model: VisionSurface.Model) async throws {
    let listed = try models.available().first { $0.id == model.id }
    try await session.load(
      model: listed
        ?? ModelDescriptor(
          id: model.id, name: model.id, framework: .llamaCpp, modality: .multimodal, artifactType: .multiFile,
          files: descriptors(model), localPath: model.files.first?.url))
  }

  /// Whether a model is loaded.
  public var isLoaded: Bool { get async { session.isModelLoaded } }

  /// Unloads it.
  public func unload() async throws { try await session.unload() }

  private func translate(_ image: VisionSurface.Image) -> VLMImage {
    switch image {
    case .rgb(let data, let width, let height): VLMImage(rgbPixels: data, width: width, height: height)
    case .rgba(let data, let width, let height): VLMImage(rgbaPixels: data, width: width, height: height)
    case .encoded(let data): VLMImage(data: data)
    case .file(let url): VLMImage(file: url)
    }
  }

  /// Starts an answer.
  public func process(
    _ image: VisionSurface.Image, prompt: String, maxTokens: Int, options: VisionSurface.Options
  ) async throws -> VisionSurface.Answer {
    let made = VLMGenerationOptions()
    let result = try await session.processImageStream(
      image: translate(image), prompt: prompt, maxTokens: maxTokens,
      options: VLMGenerationOptions(
        temperature: options.temperature ?? made.temperature, topP: options.topP ?? made.topP, topK: options.topK ?? made.topK,
        seed: options.seed ?? made.seed))
    return VisionSurface.Answer(stream: result.stream) {
      let metrics = await result.metrics
      return VisionSurface.Metrics(
        promptTokens: metrics.promptTokens, completionTokens: metrics.completionTokens, firstTokenMs: metrics.timeToFirstTokenMs,
        totalMs: metrics.totalTimeMs, tokensPerSecond: metrics.tokensPerSecond, finishReason: metrics.finishReason.rawValue)
    }
  }

  /// Gives an answer as a whole.
  public func wholeAnswer(_ image: VisionSurface.Image, prompt: String, maxTokens: Int) async throws -> String {
    try await session.processImage(image: translate(image), prompt: prompt, maxTokens: maxTokens).text
  }

  /// Cancels the running generation.
  public func cancel() async { session.cancel() }

  /// A thrown error by its code.
  public func failure(of error: any Error) -> Surface.Failure { Surface.Failure(translating: error) }
}

extension Surface.Failure {
  /// The failure that an error of this repository's `RunAnywhere` stands for, by its code.
  init(translating error: any Error) {
    guard let error = error as? SDKError else {
      self.init(.other("\(type(of: error))"), message: "\(error)")
      return
    }
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
    self.init(code, category: error.category.rawValue, message: error.message)
  }
}
