public import GenBackend
import Synchronization
public import Tensors

/// What the calls of ``RunAnywhere`` work on: an engine, the models that are loaded on it, and the store that they come from.
public final class SDKInstance: Sendable {
  private struct State: Sendable {
    var session: DiffusionSession?
    var vision: VLMSession?
    var models = ModelLibrary(registry: nil)
  }

  private let state = Mutex(State())

  /// Makes one without an engine; all calls but ``RunAnywhere/configure(backend:registry:)`` then say so.
  public init() {}

  /// Makes one with an engine.
  ///
  /// - Parameter clock: Nanoseconds of a clock that never goes back; for tests.
  public convenience init(
    backend: any GenBackend, registry: ModelRegistry = ModelRegistry(),
    clock: @escaping @Sendable () -> UInt64 = { MonotonicTime.nanoseconds() }
  ) {
    self.init()
    configure(backend: backend, registry: registry, clock: clock)
  }

  func configure(
    backend: any GenBackend, registry: ModelRegistry,
    clock: @escaping @Sendable () -> UInt64 = { MonotonicTime.nanoseconds() }
  ) {
    let session = DiffusionSession(backend: backend, registry: registry, clock: clock)
    let vision = VLMSession(backend: backend, registry: registry, clock: clock)
    state.withLock { $0 = State(session: session, vision: vision, models: ModelLibrary(registry: registry)) }
  }

  /// The session for images; nil without an engine.
  public var session: DiffusionSession? { state.withLock { $0.session } }

  /// The session for vision-language models; nil without an engine.
  public var vision: VLMSession? { state.withLock { $0.vision } }

  /// The models that are known and those that are here.
  public var models: ModelLibrary { state.withLock { $0.models } }
}
