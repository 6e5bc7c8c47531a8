import GenBackend

/// An implementation that does what another one does, but for what is changed; mutants are made of it.
struct ImplementationForwarder: DiffusionImplementation {
  typealias Handler = @Sendable (Surface.Update) -> Bool
  typealias Generate = @Sendable (String, Surface.Options, @escaping Handler) async throws -> Surface.Result

  let base: any DiffusionImplementation
  var capabilitySet: Set<Surface.Capability>
  var configuration: Surface.Configuration
  var makeDefaultOptions: @Sendable (String) -> Surface.Options
  var sizes: @Sendable (Surface.Variant) -> [ImageSize]?
  var onLoad: @Sendable (String, String, String, Surface.Configuration) async throws -> Void
  var onIsLoaded: @Sendable () async -> Bool
  var onLoadedID: @Sendable () async -> String?
  var onUnload: @Sendable () async throws -> Void
  var onGenerate: Generate
  var onStream: @Sendable (String, Surface.Options) throws -> AsyncThrowingStream<Surface.Event, any Error>?
  var onCancel: @Sendable () async throws -> Void
  var onFailure: @Sendable (any Error) -> Surface.Failure

  init(_ base: any DiffusionImplementation) {
    self.base = base
    capabilitySet = base.capabilities
    configuration = base.defaultConfiguration
    makeDefaultOptions = { base.defaultOptions(prompt: $0) }
    sizes = { base.recommendedSizes($0) }
    onLoad = { try await base.load(path: $0, id: $1, name: $2, configuration: $3) }
    onIsLoaded = { await base.isLoaded }
    onLoadedID = { await base.loadedID }
    onUnload = { try await base.unload() }
    onGenerate = { try await base.generate(prompt: $0, options: $1, onProgress: $2) }
    onStream = { try base.stream(prompt: $0, options: $1) }
    onCancel = { try await base.cancel() }
    onFailure = { base.failure(of: $0) }
  }

  var capabilities: Set<Surface.Capability> { capabilitySet }
  var defaultConfiguration: Surface.Configuration { configuration }
  func defaultOptions(prompt: String) -> Surface.Options { makeDefaultOptions(prompt) }
  func recommendedSizes(_ variant: Surface.Variant) -> [ImageSize]? { sizes(variant) }
  func load(path: String, id: String, name: String, configuration: Surface.Configuration) async throws {
    try await onLoad(path, id, name, configuration)
  }
  var isLoaded: Bool { get async { await onIsLoaded() } }
  var loadedID: String? { get async { await onLoadedID() } }
  func unload() async throws { try await onUnload() }
  func generate(
    prompt: String, options: Surface.Options, onProgress: @escaping @Sendable (Surface.Update) -> Bool
  ) async throws -> Surface.Result { try await onGenerate(prompt, options, onProgress) }
  func stream(prompt: String, options: Surface.Options) throws -> AsyncThrowingStream<Surface.Event, any Error>? {
    try onStream(prompt, options)
  }
  func cancel() async throws { try await onCancel() }
  func failure(of error: any Error) -> Surface.Failure {
    // Errors that a mutant made up are already translated.
    if let failure = error as? Surface.Failure { return failure }
    return onFailure(error)
  }

  // MARK: - Changes

  /// Changes the options before the call.
  func mappingOptions(_ change: @escaping @Sendable (inout Surface.Options) -> Void) -> Self {
    var copy = self
    let inner = onGenerate
    copy.onGenerate = { prompt, options, handler in
      var options = options
      change(&options)
      return try await inner(prompt, options, handler)
    }
    return copy
  }

  /// Changes the result after the call.
  func mappingResult(_ change: @escaping @Sendable (inout Surface.Result, Surface.Options) throws -> Void) -> Self {
    var copy = self
    let inner = onGenerate
    copy.onGenerate = { prompt, options, handler in
      var result = try await inner(prompt, options, handler)
      try change(&result, options)
      return result
    }
    return copy
  }

  /// Changes the handler.
  func mappingHandler(_ change: @escaping @Sendable (@escaping Handler) -> Handler) -> Self {
    var copy = self
    let inner = onGenerate
    copy.onGenerate = { prompt, options, handler in try await inner(prompt, options, change(handler)) }
    return copy
  }

  /// Changes the configuration before the load.
  func mappingConfiguration(_ change: @escaping @Sendable (inout Surface.Configuration) -> Void) -> Self {
    var copy = self
    let inner = onLoad
    copy.onLoad = { path, id, name, configuration in
      var configuration = configuration
      change(&configuration)
      try await inner(path, id, name, configuration)
    }
    return copy
  }
}
