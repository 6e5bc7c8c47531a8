import GenBackend

/// A deliberately faulty implementation, which at least one check must find out.
public struct Mutant: Sendable, CustomStringConvertible {
  /// `raw-rgba`.
  public let id: String
  /// The fault, and where it was seen when it's a real one.
  public let story: String
  /// The checks that must fail on it.
  public let breaks: [String]
  let change: @Sendable (inout ImplementationForwarder, MutantSurroundings) -> Void
  let changeBackend: (@Sendable (any GenBackend) -> any GenBackend)?
  let changeMetrics: (@Sendable (any MetricsImplementation) -> any MetricsImplementation)?

  init(
    _ id: String, _ story: String, breaks: [String],
    backend: (@Sendable (any GenBackend) -> any GenBackend)? = nil,
    metrics: (@Sendable (any MetricsImplementation) -> any MetricsImplementation)? = nil,
    change: @escaping @Sendable (inout ImplementationForwarder, MutantSurroundings) -> Void = { _, _ in }
  ) {
    self.id = id
    self.story = story
    self.breaks = breaks
    changeBackend = backend
    changeMetrics = metrics
    self.change = change
  }

  /// The id.
  public var description: String { id }

  func wrap(_ implementation: any DiffusionImplementation, _ backend: ScriptedBackend, _ setup: EngineUnderTest.Setup)
    -> any DiffusionImplementation
  {
    var forwarder = ImplementationForwarder(implementation)
    change(&forwarder, MutantSurroundings(backend: backend, setup: setup))
    return forwarder
  }

  func wrapBackend(_ backend: ScriptedBackend, _ setup: EngineUnderTest.Setup) -> (any GenBackend)? {
    changeBackend?(backend)
  }
}

/// What stands around a mutant.
struct MutantSurroundings: Sendable {
  var backend: ScriptedBackend
  var setup: EngineUnderTest.Setup
}
