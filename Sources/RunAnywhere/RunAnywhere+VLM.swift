public import ModelRegistry

extension RunAnywhere {
  /// Loads a vision-language model; see ``VLMSession/load(model:)``.
  public static func loadVLMModel(model: ModelDescriptor) async throws { try await requireVision().load(model: model) }

  /// Whether a vision-language model is loaded.
  public static var isVLMModelLoaded: Bool {
    get async { sdk.vision?.isModelLoaded ?? false }
  }

  /// The id of the loaded vision-language model; nil without one.
  public static var currentVLMModelId: String? {
    get async { sdk.vision?.currentModelID }
  }

  /// Frees the vision-language model; see ``VLMSession/unload()``.
  public static func unloadVLMModel() async throws { try await sdk.vision?.unload() }

  /// Starts an answer about an image; see ``VLMSession/processImageStream(image:prompt:maxTokens:options:)``.
  public static func processImageStream(
    image: VLMImage, prompt: String, maxTokens: Int, options: VLMGenerationOptions = VLMGenerationOptions()
  ) async throws -> VLMStreamingResult {
    try await requireVision().processImageStream(image: image, prompt: prompt, maxTokens: maxTokens, options: options)
  }

  /// Makes an answer about an image and gives it as a whole.
  ///
  /// - Throws: ``SDKError``, as ``VLMSession/processImage(image:prompt:maxTokens:options:)``.
  public static func processImage(
    image: VLMImage, prompt: String, maxTokens: Int, options: VLMGenerationOptions = VLMGenerationOptions()
  ) async throws -> (text: String, metrics: VLMMetrics) {
    try await requireVision().processImage(image: image, prompt: prompt, maxTokens: maxTokens, options: options)
  }

  /// Cancels the running generation; see ``VLMSession/cancel()``.
  public static func cancelVLMGeneration() async { sdk.vision?.cancel() }
}
