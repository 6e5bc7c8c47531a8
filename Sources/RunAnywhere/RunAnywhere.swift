public import GenBackend
// The types of models belong to the SDK's surface: an app imports RunAnywhere alone.
@_exported public import ModelRegistry
import Synchronization

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
  private struct Shared: Sendable {
    var session: DiffusionSession?
    var vision: VLMSession?
    var models = ModelLibrary(registry: nil)
    /// Keeps the loaded diffusion model's files from being deleted.
    var lease: ModelLease?
  }

  private static let shared = Mutex(Shared())

  /// Sets the engine and the store of models that all calls use; models that were loaded on another one are forgotten.
  public static func configure(backend: any GenBackend, registry: ModelRegistry = ModelRegistry()) {
    let (session, vision) = (DiffusionSession(backend: backend), VLMSession(backend: backend, registry: registry))
    shared.withLock { $0 = Shared(session: session, vision: vision, models: ModelLibrary(registry: registry)) }
  }

  /// Sets the session that all calls for images use.
  public static func configure(session: DiffusionSession) {
    shared.withLock { $0.session = session }
  }

  /// The session that all calls for images use; nil before ``configure(backend:registry:)``.
  public static var session: DiffusionSession? { shared.withLock { $0.session } }

  /// The session that all calls for vision-language models use; nil before ``configure(backend:registry:)``.
  public static var visionSession: VLMSession? { shared.withLock { $0.vision } }

  /// The models that are known and those that are here.
  public static var models: ModelLibrary { shared.withLock { $0.models } }

  static func setLease(_ lease: ModelLease?) { shared.withLock { $0.lease = lease } }

  static func requireSession() throws(SDKError) -> DiffusionSession {
    guard let session else { throw notConfigured }
    return session
  }

  static func requireVision() throws(SDKError) -> VLMSession {
    guard let visionSession else { throw notConfigured }
    return visionSession
  }

  private static let notConfigured = SDKError(
    .notInitialized, "the SDK has no engine; call RunAnywhere.configure(backend:) first")
}
