import Conformance

extension RegistryImplementation {
  /// Changes what is listed.
  mutating func mapModels(_ change: @escaping @Sendable (inout RegistrySurface.Model) -> Void) {
    let inner = available
    available = {
      try await inner().map { model in
        var model = model
        change(&model)
        return model
      }
    }
  }

  /// Changes what is registered.
  mutating func mapRegistrations(_ change: @escaping @Sendable (inout RegistrySurface.Registration) -> Void) {
    let inner = register
    register = { registration in
      var registration = registration
      change(&registration)
      try await inner(registration)
    }
  }

  /// Changes the events of a download.
  mutating func mapEvents(
    _ change: @escaping @Sendable (RegistrySurface.Event) -> [RegistrySurface.Event]
  ) {
    let inner = events
    events = { id in
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
