/// An implementation of the registry API that does what another one does, but for what is changed; mutants are made of it.
struct RegistryForwarder: RegistryImplementation {
  typealias Handler = @Sendable (Double) -> Void

  var capabilities: Set<RegistrySurface.Capability>
  var onLabels: @Sendable (RegistrySurface.Kind) -> (framework: String, modality: String)
  var onRegister: @Sendable (RegistrySurface.Registration) async throws -> Void
  var onAvailable: @Sendable () async throws -> [RegistrySurface.Model]
  var onDownload: @Sendable (String, @escaping Handler) async throws -> Void
  var onEvents: @Sendable (String) async throws -> AsyncStream<RegistrySurface.Event>
  var onCancel: @Sendable (String) async -> Void
  var onDelete: @Sendable (String) async throws -> Void
  var onUnregister: @Sendable (String) async throws -> Void
  var onStorage: @Sendable () async throws -> [String: Int]
  var onLoad: @Sendable (String) async throws -> Void
  var onIsLoaded: @Sendable (String) async -> Bool
  var onUnload: @Sendable (String) async throws -> Void
  var onFailure: @Sendable (any Error) -> Surface.Failure

  init(_ base: any RegistryImplementation) {
    capabilities = base.capabilities
    onLabels = { base.labels($0) }
    onRegister = { try await base.register($0) }
    onAvailable = { try await base.available() }
    onDownload = { try await base.download($0, progress: $1) }
    onEvents = { try await base.events($0) }
    onCancel = { await base.cancelDownload($0) }
    onDelete = { try await base.delete($0) }
    onUnregister = { try await base.unregister($0) }
    onStorage = { try await base.storage() }
    onLoad = { try await base.load($0) }
    onIsLoaded = { await base.isLoaded($0) }
    onUnload = { try await base.unload($0) }
    onFailure = { base.failure(of: $0) }
  }

  func labels(_ kind: RegistrySurface.Kind) -> (framework: String, modality: String) { onLabels(kind) }
  func register(_ registration: RegistrySurface.Registration) async throws { try await onRegister(registration) }
  func available() async throws -> [RegistrySurface.Model] { try await onAvailable() }
  func download(_ id: String, progress: @escaping @Sendable (Double) -> Void) async throws { try await onDownload(id, progress) }
  func events(_ id: String) async throws -> AsyncStream<RegistrySurface.Event> { try await onEvents(id) }
  func cancelDownload(_ id: String) async { await onCancel(id) }
  func delete(_ id: String) async throws { try await onDelete(id) }
  func unregister(_ id: String) async throws { try await onUnregister(id) }
  func storage() async throws -> [String: Int] { try await onStorage() }
  func load(_ id: String) async throws { try await onLoad(id) }
  func isLoaded(_ id: String) async -> Bool { await onIsLoaded(id) }
  func unload(_ id: String) async throws { try await onUnload(id) }
  func failure(of error: any Error) -> Surface.Failure {
    // Errors that a mutant made up are already translated.
    if let failure = error as? Surface.Failure { return failure }
    return onFailure(error)
  }

  // MARK: - Changes

  /// Changes what is listed.
  mutating func mapModels(_ change: @escaping @Sendable (inout RegistrySurface.Model) -> Void) {
    let inner = onAvailable
    onAvailable = {
      try await inner().map { model in
        var model = model
        change(&model)
        return model
      }
    }
  }

  /// Changes what is registered.
  mutating func mapRegistrations(_ change: @escaping @Sendable (inout RegistrySurface.Registration) -> Void) {
    let inner = onRegister
    onRegister = { registration in
      var registration = registration
      change(&registration)
      try await inner(registration)
    }
  }

  /// Changes the events of a download.
  mutating func mapEvents(
    _ change: @escaping @Sendable (RegistrySurface.Event) -> [RegistrySurface.Event]
  ) {
    let inner = onEvents
    onEvents = { id in
      let events = try await inner(id)
      let (stream, continuation) = AsyncStream<RegistrySurface.Event>.makeStream()
      let task = Task {
        for await event in events { for changed in change(event) { continuation.yield(changed) } }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    }
  }
}
