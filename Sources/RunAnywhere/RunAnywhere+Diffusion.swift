public import GenBackend

extension RunAnywhere {
  /// Loads a diffusion model; see ``DiffusionSession/load(modelPath:modelId:modelName:configuration:)``.
  public static func loadDiffusionModel(
    modelPath: String, modelId: String, modelName: String, configuration: DiffusionConfiguration = DiffusionConfiguration()
  ) async throws {
    try await requireSession()
      .load(modelPath: modelPath, modelId: modelId, modelName: modelName, configuration: configuration)
  }

  /// Whether a diffusion model is loaded.
  public static var isDiffusionModelLoaded: Bool {
    get async { sdk.session?.isModelLoaded ?? false }
  }

  /// The id of the loaded diffusion model; nil without one.
  public static var currentDiffusionModelId: String? {
    get async { sdk.session?.currentModelID }
  }

  /// What the loaded diffusion model can do; empty without one.
  public static var diffusionCapabilities: Set<Capability> {
    get async { sdk.session?.capabilities ?? [] }
  }

  /// Frees the diffusion model; see ``DiffusionSession/unload()``.
  public static func unloadDiffusionModel() async throws {
    try await sdk.session?.unload()
  }

  /// Makes images; see ``DiffusionSession/generate(prompt:options:progressHandler:)``.
  public static func generateImage(
    prompt: String, options: DiffusionGenerationOptions,
    progressHandler: @escaping @Sendable (DiffusionProgressUpdate) -> Bool = { _ in true }
  ) async throws -> DiffusionResult {
    try await requireSession().generate(prompt: prompt, options: options, progressHandler: progressHandler)
  }

  /// Makes images, told as a stream; see ``DiffusionSession/stream(prompt:options:)``.
  public static func generateImageStream(prompt: String, options: DiffusionGenerationOptions) throws
    -> AsyncThrowingStream<DiffusionEvent, any Error>
  {
    try requireSession().stream(prompt: prompt, options: options)
  }

  /// Cancels the running generation; see ``DiffusionSession/cancel()``.
  public static func cancelImageGeneration() async throws { sdk.session?.cancel() }
}
