public import GenBackend
import Synchronization

/// A language model on this device, in the shape of the FoundationModels framework.
///
/// One is the default of all sessions; ``configure(_:)`` sets it.
public final class SystemLanguageModel: Sendable {
  /// Whether it can be asked.
  public enum Availability: Sendable, Hashable {
    /// Why it can't.
    public enum UnavailableReason: String, Sendable, Hashable, Codable, CaseIterable {
      /// The device can't.
      case deviceNotEligible
      /// The person has it off.
      case appleIntelligenceNotEnabled
      /// The model isn't there (yet).
      case modelNotReady
    }

    case available
    case unavailable(UnavailableReason)
  }

  private static let configured = Mutex<SystemLanguageModel?>(nil)

  /// The default of all sessions; one that isn't available before ``configure(_:)``.
  public static var `default`: SystemLanguageModel {
    configured.withLock { $0 } ?? SystemLanguageModel(backend: nil, model: nil, environment: PlaygroundEnvironment())
  }

  /// Sets the default.
  public static func configure(_ model: SystemLanguageModel?) { configured.withLock { $0 = model } }

  let backend: (any GenBackend)?
  let model: ModelInfo?
  let turn = Turn()
  private let environment: PlaygroundEnvironment

  /// Makes a model of an engine's.
  ///
  /// - Parameters:
  ///   - backend: The engine.
  ///   - model: What its `load` has returned.
  ///   - environment: Whether the device can, what the person has enabled, and the supported languages.
  public convenience init(
    backend: any GenBackend, model: ModelInfo, environment: PlaygroundEnvironment = PlaygroundEnvironment()
  ) {
    self.init(backend: Optional(backend), model: Optional(model), environment: environment)
  }

  private init(backend: (any GenBackend)?, model: ModelInfo?, environment: PlaygroundEnvironment) {
    self.backend = backend
    self.model = model
    self.environment = environment
  }

  /// Whether it can be asked, and why not.
  public var availability: Availability {
    if !environment.isDeviceCapable { return .unavailable(.deviceNotEligible) }
    if !environment.isEnabledByUser { return .unavailable(.appleIntelligenceNotEnabled) }
    guard backend != nil, model?.capabilities.contains(.textGeneration) == true else { return .unavailable(.modelNotReady) }
    return .available
  }

  /// Whether it can be asked.
  public var isAvailable: Bool { availability == .available }

  /// Tokens that instructions, prompts and answers of a session may have together; zero without a model.
  public var contextSize: Int { model?.contextLength ?? 0 }

  func supports(_ text: String) -> Bool { environment.locales.supports(text: text) }
}
