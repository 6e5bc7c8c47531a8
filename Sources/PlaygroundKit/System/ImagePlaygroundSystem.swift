public import GenBackend
import Synchronization
import Tensors

/// The part of the system that makes the images: an engine with a loaded model, and what surrounds it.
///
/// One is shared by all that don't name their own; ``configure(_:)`` sets it.
public final class ImagePlaygroundSystem: Sendable {
  /// How the engine is asked.
  public struct Settings: Sendable, Hashable {
    /// Denoising steps; nil is the model's own number.
    public var steps: Int?
    /// Weight of the prompt; nil is the model's own number.
    public var guidanceScale: Double?
    /// Seed of the first image; nil draws one.
    public var seed: UInt64?
    /// How much of an input image is replaced where it's inspiration only, 0...1.
    public var inspirationStrength = 0.75
    /// How much of an input image is replaced where it's edited, 0...1.
    public var editingStrength = 0.4
    /// How much of a drawing is replaced, 0...1.
    public var drawingStrength = 0.85
    /// The share of own noise where images are close together: its angle, 0 (all shared) to π/2 (all own).
    public var lowVarietyAngle = 0.45
    /// Makes settings.
    public init() {}
  }

  private static let sharedSystem = Mutex<ImagePlaygroundSystem?>(nil)

  /// The shared one; nil before ``configure(_:)``.
  public static var shared: ImagePlaygroundSystem? { sharedSystem.withLock { $0 } }

  /// Sets the shared one.
  public static func configure(_ system: ImagePlaygroundSystem?) { sharedSystem.withLock { $0 = system } }

  /// The engine.
  public let backend: any GenBackend
  /// The model that makes the images; nil when it isn't there (yet).
  public let model: ModelInfo?
  /// How the engine is asked.
  public let settings: Settings
  /// Counts images; nil sets no limit.
  public let usage: PlaygroundUsage?
  private let state: Mutex<State>
  let turn = Turn()

  private struct State {
    var environment: PlaygroundEnvironment
    var externalProvider: (any ExternalImageProvider)?
  }

  /// Makes a system.
  ///
  /// - Parameters:
  ///   - backend: The engine.
  ///   - model: What its `load` has returned; nil for none.
  ///   - environment: What the app runs in.
  ///   - externalProvider: The provider that the person has configured.
  ///   - usage: Counts images.
  ///   - settings: How the engine is asked.
  public init(
    backend: any GenBackend, model: ModelInfo?, environment: PlaygroundEnvironment = PlaygroundEnvironment(),
    externalProvider: (any ExternalImageProvider)? = nil, usage: PlaygroundUsage? = nil, settings: Settings = Settings()
  ) {
    self.backend = backend
    self.model = model
    self.settings = settings
    self.usage = usage
    state = Mutex(State(environment: environment, externalProvider: externalProvider))
  }

  /// What the app runs in; may change at any time.
  public var environment: PlaygroundEnvironment {
    get { state.withLock { $0.environment } }
    set { state.withLock { $0.environment = newValue } }
  }

  /// The provider that the person has configured; nil without one.
  public var externalProvider: (any ExternalImageProvider)? {
    get { state.withLock { $0.externalProvider } }
    set { state.withLock { $0.externalProvider = newValue } }
  }

  /// Whether an app may show the sheet; `supportsImageGeneration` in some documents.
  public var supportsImagePlayground: Bool { environment.availability.supportsImagePlayground }
  /// The same value under its other documented name.
  public var supportsImageGeneration: Bool { supportsImagePlayground }
}

/// Lets one request at a time at the engine, in the order of their coming.
actor Turn {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Waits for the turn.
  func take() async {
    if isTaken {
      await withCheckedContinuation { waiting.append($0) }
    } else {
      isTaken = true
    }
  }

  /// Gives the turn to the next one.
  func give() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
