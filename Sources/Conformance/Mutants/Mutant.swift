import GenBackend

/// A deliberately faulty implementation, which at least one check must find out.
public struct Mutant: Sendable, CustomStringConvertible {
  /// `raw-rgba`.
  public let id: String
  /// The fault, and where it was seen when it's a real one.
  public let story: String
  /// The checks that must fail on it.
  public let breaks: [String]
  /// The API that it's an implementation of.
  public let surface: SurfaceKind
  let change: @Sendable (inout ImplementationForwarder, MutantSurroundings) -> Void
  let changeBackend: (@Sendable (any GenBackend) -> any GenBackend)?
  let changeMetrics: (@Sendable (any MetricsImplementation) -> any MetricsImplementation)?
  let changeSurroundings: (@Sendable (any SurfaceSurroundings) -> any SurfaceSurroundings)?

  private init(
    id: String, story: String, breaks: [String], surface: SurfaceKind = .diffusion,
    change: @escaping @Sendable (inout ImplementationForwarder, MutantSurroundings) -> Void = { _, _ in },
    changeBackend: (@Sendable (any GenBackend) -> any GenBackend)? = nil,
    changeMetrics: (@Sendable (any MetricsImplementation) -> any MetricsImplementation)? = nil,
    changeSurroundings: (@Sendable (any SurfaceSurroundings) -> any SurfaceSurroundings)? = nil
  ) {
    self.id = id
    self.story = story
    self.breaks = breaks
    self.surface = surface
    self.change = change
    self.changeBackend = changeBackend
    self.changeMetrics = changeMetrics
    self.changeSurroundings = changeSurroundings
  }

  /// Makes a mutant of an implementation of another API: `surroundings` makes those that make the faulty one.
  init<Surroundings: SurfaceSurroundings>(
    _ id: String, _ story: String, breaks: [String], of surface: SurfaceKind,
    surroundings: @escaping @Sendable (Surroundings) -> Surroundings
  ) {
    self.init(
      id: id, story: story, breaks: breaks, surface: surface,
      changeSurroundings: { given in
        guard let given = given as? Surroundings else { return given }
        return surroundings(given)
      })
  }

  /// Makes a mutant of an implementation.
  init(
    _ id: String, _ story: String, breaks: [String],
    change: @escaping @Sendable (inout ImplementationForwarder, MutantSurroundings) -> Void
  ) {
    self.init(id: id, story: story, breaks: breaks, change: change)
  }

  /// Makes a mutant of the engine below.
  init(_ id: String, _ story: String, breaks: [String], backend: @escaping @Sendable (any GenBackend) -> any GenBackend) {
    self.init(id: id, story: story, breaks: breaks, changeBackend: backend)
  }

  /// Makes a mutant of the metrics.
  init(
    _ id: String, _ story: String, breaks: [String],
    metrics: @escaping @Sendable (any MetricsImplementation) -> any MetricsImplementation
  ) {
    self.init(id: id, story: story, breaks: breaks, changeMetrics: metrics)
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
