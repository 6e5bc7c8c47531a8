/// What is judged by the group M: an SDK's store of models, written by its owner.
public struct RegistryImplementation: ThrowingImplementation {
  /// What the SDK can do beyond the documented minimum.
  public var capabilities: Set<RegistrySurface.Capability>
  /// The names of the framework and the modality that a registration of a kind is made with.
  public var labels: @Sendable (RegistrySurface.Kind) -> (framework: String, modality: String)
  /// Registers a model.
  public var register: @Sendable (RegistrySurface.Registration) async throws -> Void
  /// All registered models.
  public var available: @Sendable () async throws -> [RegistrySurface.Model]
  /// Downloads a model.
  public var download: @Sendable (_ id: String, _ progress: @escaping @Sendable (Double) -> Void) async throws -> Void
  /// Starts or joins a download and tells what happens; asked only with ``RegistrySurface/Capability/events``.
  public var events: @Sendable (_ id: String) async throws -> AsyncStream<RegistrySurface.Event>
  /// Cancels a download.
  public var cancelDownload: @Sendable (_ id: String) async -> Void
  /// Deletes a model's files.
  public var delete: @Sendable (_ id: String) async throws -> Void
  /// Forgets a model.
  public var unregister: @Sendable (_ id: String) async throws -> Void
  /// Bytes of each downloaded model by its id.
  public var storage: @Sendable () async throws -> [String: Int]
  /// Loads a downloaded model, so that its files are in use.
  public var load: @Sendable (_ id: String) async throws -> Void
  /// Whether a model is loaded.
  public var isLoaded: @Sendable (_ id: String) async -> Bool
  /// Unloads a model; asked for one that isn't loaded too.
  public var unload: @Sendable (_ id: String) async throws -> Void
  /// Translates an error that was thrown by its code.
  ///
  /// One that is a ``Failure`` already stays as it is.
  public var failure: @Sendable (any Error) -> SDKFailure

  /// Makes an implementation.
  public init(
    capabilities: Set<RegistrySurface.Capability>,
    labels: @escaping @Sendable (RegistrySurface.Kind) -> (framework: String, modality: String),
    register: @escaping @Sendable (RegistrySurface.Registration) async throws -> Void,
    available: @escaping @Sendable () async throws -> [RegistrySurface.Model],
    download: @escaping @Sendable (_ id: String, _ progress: @escaping @Sendable (Double) -> Void) async throws -> Void,
    events: @escaping @Sendable (_ id: String) async throws -> AsyncStream<RegistrySurface.Event>,
    cancelDownload: @escaping @Sendable (_ id: String) async -> Void,
    delete: @escaping @Sendable (_ id: String) async throws -> Void,
    unregister: @escaping @Sendable (_ id: String) async throws -> Void,
    storage: @escaping @Sendable () async throws -> [String: Int],
    load: @escaping @Sendable (_ id: String) async throws -> Void,
    isLoaded: @escaping @Sendable (_ id: String) async -> Bool,
    unload: @escaping @Sendable (_ id: String) async throws -> Void,
    failure: @escaping @Sendable (any Error) -> SDKFailure
  ) {
    self.capabilities = capabilities
    self.labels = labels
    self.register = register
    self.available = available
    self.download = download
    self.events = events
    self.cancelDownload = cancelDownload
    self.delete = delete
    self.unregister = unregister
    self.storage = storage
    self.load = load
    self.isLoaded = isLoaded
    self.unload = unload
    self.failure = { ($0 as? SDKFailure) ?? failure($0) }
  }
}
