public import GenBackend

/// What is judged by the groups D, X and S: an SDK's image generation, about a page of code that its owner writes.
public struct DiffusionImplementation: ThrowingImplementation {
  /// Told each update; false asks for the end.
  public typealias Handler = @Sendable (DiffusionSurface.Update) -> Bool

  /// What the SDK can do beyond the documented minimum.
  public var capabilities: Set<DiffusionSurface.Capability>
  /// A configuration that was made without arguments.
  public var defaultConfiguration: DiffusionSurface.Configuration
  /// Options that were made from a prompt alone, every field that the SDK has filled in.
  public var defaultOptions: @Sendable (_ prompt: String) -> DiffusionSurface.Options
  /// The sizes that the SDK recommends for a variant; nil when it doesn't have the variant.
  public var recommendedSizes: @Sendable (DiffusionSurface.Variant) -> [ImageSize]?
  /// Loads a model.
  public var load:
    @Sendable (_ path: String, _ id: String, _ name: String, _ configuration: DiffusionSurface.Configuration) async throws -> Void
  /// Whether a model is loaded.
  public var isLoaded: @Sendable () async -> Bool
  /// The id of the loaded model; nil without one, or when the SDK doesn't tell.
  public var loadedID: @Sendable () async -> String?
  /// The names of what the loaded model can do, as `GenBackend` spells them; nil when the SDK doesn't tell.
  public var modelCapabilities: (@Sendable () async -> Set<String>)?
  /// Unloads the model.
  public var unload: @Sendable () async throws -> Void
  /// Makes an image; the prompt is the call's own argument beside the one in the options.
  public var generate:
    @Sendable (_ prompt: String, _ options: DiffusionSurface.Options, _ onProgress: @escaping Handler) async throws ->
      DiffusionSurface.Result
  /// Makes an image, told as a stream; nil when the SDK has none.
  public var stream:
    (
      @Sendable (_ prompt: String, _ options: DiffusionSurface.Options) async throws -> AsyncThrowingStream<
        DiffusionSurface.Event, any Error
      >
    )?
  /// Cancels the running generation.
  public var cancel: @Sendable () async throws -> Void
  /// Translates an error that was thrown by its code.
  ///
  /// One that is a ``Failure`` already stays as it is.
  public var failure: @Sendable (any Error) -> SDKFailure
  /// The engine below, when it's one that speaks `GenBackend`: its traces are compared with goldens.
  public var backend: (any GenBackend)?

  /// Makes an implementation.
  public init(
    capabilities: Set<DiffusionSurface.Capability>, defaultConfiguration: DiffusionSurface.Configuration,
    defaultOptions: @escaping @Sendable (_ prompt: String) -> DiffusionSurface.Options,
    recommendedSizes: @escaping @Sendable (DiffusionSurface.Variant) -> [ImageSize]?,
    load: @escaping @Sendable (String, String, String, DiffusionSurface.Configuration) async throws -> Void,
    isLoaded: @escaping @Sendable () async -> Bool, loadedID: @escaping @Sendable () async -> String?,
    modelCapabilities: (@Sendable () async -> Set<String>)? = nil,
    unload: @escaping @Sendable () async throws -> Void,
    generate: @escaping @Sendable (String, DiffusionSurface.Options, @escaping Handler) async throws -> DiffusionSurface.Result,
    stream: (
      @Sendable (String, DiffusionSurface.Options) async throws -> AsyncThrowingStream<DiffusionSurface.Event, any Error>
    )? = nil,
    cancel: @escaping @Sendable () async throws -> Void, failure: @escaping @Sendable (any Error) -> SDKFailure,
    backend: (any GenBackend)? = nil
  ) {
    self.capabilities = capabilities
    self.defaultConfiguration = defaultConfiguration
    self.defaultOptions = defaultOptions
    self.recommendedSizes = recommendedSizes
    self.load = load
    self.isLoaded = isLoaded
    self.loadedID = loadedID
    self.modelCapabilities = modelCapabilities
    self.unload = unload
    self.generate = generate
    self.stream = stream
    self.cancel = cancel
    self.failure = { ($0 as? SDKFailure) ?? failure($0) }
    self.backend = backend
  }
}
