public import GenBackend
import Synchronization

/// The SDK: image generation on the device, as the documentation describes it.
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
  private static let shared = Mutex<DiffusionSession?>(nil)

  /// Sets the engine that all calls use; a model that was loaded on another one is forgotten.
  public static func configure(backend: any GenBackend) {
    configure(session: DiffusionSession(backend: backend))
  }

  /// Sets the session that all calls use.
  public static func configure(session: DiffusionSession) {
    shared.withLock { $0 = session }
  }

  /// The session that all calls use; nil before ``configure(backend:)``.
  public static var session: DiffusionSession? { shared.withLock { $0 } }

  static func requireSession() throws(SDKError) -> DiffusionSession {
    guard let session else {
      throw SDKError(.notInitialized, "the SDK has no engine; call RunAnywhere.configure(backend:) first")
    }
    return session
  }
}
