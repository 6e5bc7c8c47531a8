public import GenBackend
// The types of models belong to the SDK's surface: an app imports RunAnywhere alone.
@_exported public import ModelRegistry

/// The SDK: image generation and vision-language models on the device, as the documentation describes them.
///
/// ```swift
/// RunAnywhere.configure(backend: engine)
/// try await RunAnywhere.loadDiffusionModel(
///   modelPath: path, modelId: "sd15", modelName: "Stable Diffusion 1.5", configuration: DiffusionConfiguration())
/// let result = try await RunAnywhere.generateImage(prompt: prompt, options: options) { update in
///   print("Step \(update.currentStep)/\(update.totalSteps)")
///   return true
/// }
/// ```
public enum RunAnywhere {
  /// What all calls are made on: the process has one; a task may have one of its own, as tests that run side by side do.
  ///
  /// ```swift
  /// try await RunAnywhere.$sdk.withValue(SDKInstance(backend: engine)) { try await RunAnywhere.unloadDiffusionModel() }
  /// ```
  @TaskLocal public static var sdk = SDKInstance()

  /// Sets the engine and the store of models that all calls use; models that were loaded on another one are forgotten.
  public static func configure(backend: any GenBackend, registry: ModelRegistry = ModelRegistry()) {
    sdk.configure(backend: backend, registry: registry)
  }

  /// The models that are known and those that are here.
  public static var models: ModelLibrary { sdk.models }

  static func requireSession() throws(SDKError) -> DiffusionSession {
    guard let session = sdk.session else { throw notConfigured }
    return session
  }

  static func requireVision() throws(SDKError) -> VLMSession {
    guard let vision = sdk.vision else { throw notConfigured }
    return vision
  }

  private static let notConfigured = SDKError(
    .notInitialized, "the SDK has no engine; call RunAnywhere.configure(backend:) first")
}
