/// What is judged by the group V: an SDK's vision-language models, written by its owner.
public struct VisionImplementation: ThrowingImplementation {
  /// What the SDK can do beyond the documented minimum.
  public var capabilities: Set<VisionSurface.Capability>
  /// Whether a model is loaded by its descriptor, and an id alone isn't taken.
  public var loadNeedsDescriptor: Bool
  /// Registers a model of several files.
  public var register: @Sendable (VisionSurface.Model) async throws -> Void
  /// Brings the files of a registered model into the SDK's store.
  public var download: @Sendable (_ id: String) async throws -> Void
  /// Loads a model as it was given to ``register``, whether it was or not.
  public var load: @Sendable (VisionSurface.Model) async throws -> Void
  /// Whether a model is loaded.
  public var isLoaded: @Sendable () async -> Bool
  /// The id of the loaded model; nil without one.
  public var loadedID: @Sendable () async -> String?
  /// Unloads the model.
  public var unload: @Sendable () async throws -> Void
  /// Starts an answer.
  public var process:
    @Sendable (VisionSurface.Image, _ prompt: String, _ maxTokens: Int, VisionSurface.Options) async throws ->
      VisionSurface.Answer
  /// Gives an answer as a whole; asked only with ``VisionSurface/Capability/wholeAnswers``.
  public var wholeAnswer: @Sendable (VisionSurface.Image, _ prompt: String, _ maxTokens: Int) async throws -> String
  /// Cancels the running generation.
  public var cancel: @Sendable () async -> Void
  /// Translates an error that was thrown by its code.
  ///
  /// One that is a ``Failure`` already stays as it is.
  public var failure: @Sendable (any Error) -> SDKFailure

  /// Makes an implementation.
  public init(
    capabilities: Set<VisionSurface.Capability>, loadNeedsDescriptor: Bool,
    register: @escaping @Sendable (VisionSurface.Model) async throws -> Void,
    download: @escaping @Sendable (String) async throws -> Void,
    load: @escaping @Sendable (VisionSurface.Model) async throws -> Void, isLoaded: @escaping @Sendable () async -> Bool,
    loadedID: @escaping @Sendable () async -> String?,
    unload: @escaping @Sendable () async throws -> Void,
    process: @escaping @Sendable (VisionSurface.Image, String, Int, VisionSurface.Options) async throws -> VisionSurface.Answer,
    wholeAnswer: @escaping @Sendable (VisionSurface.Image, String, Int) async throws -> String,
    cancel: @escaping @Sendable () async -> Void, failure: @escaping @Sendable (any Error) -> SDKFailure
  ) {
    self.capabilities = capabilities
    self.loadNeedsDescriptor = loadNeedsDescriptor
    self.register = register
    self.download = download
    self.load = load
    self.isLoaded = isLoaded
    self.loadedID = loadedID
    self.unload = unload
    self.process = process
    self.wholeAnswer = wholeAnswer
    self.cancel = cancel
    self.failure = { ($0 as? SDKFailure) ?? failure($0) }
  }
}
