public import Conformance
import GenBackend

/// A deliberately faulty implementation, which at least one check must find out.
public struct Mutant: Sendable, CustomStringConvertible {
  /// `raw-rgba`.
  public let id: String
  /// The fault, and where it was seen when it's a real one.
  public let fault: String
  /// The checks that must fail on it.
  public let breaks: [String]
  /// The API that it's an implementation of.
  public let surface: SurfaceKind
  /// Whether the fault is one of what measures.
  let isAboutMetrics: Bool
  let applied: @Sendable (AnySubject) -> AnySubject

  private init<Surface: APISurface>(
    _ id: String, _ fault: String, breaks: [String], isAboutMetrics: Bool = false,
    to change: @escaping @Sendable (inout Subject<Surface>) -> Void
  ) {
    self.id = id
    self.fault = fault
    self.breaks = breaks
    self.isAboutMetrics = isAboutMetrics
    surface = Surface.kind
    applied = { $0.changed(change) }
  }

  /// The id.
  public var description: String { id }

  /// Makes a mutant of implementations: `change` is given each with its test double, its setup, and how right ones are made.
  init<Surface: APISurface>(
    _ id: String, _ fault: String, breaks: [String], of surface: Surface.Type,
    _ change:
      @escaping @Sendable (
        inout Surface.Implementation, Surface.TestDouble?, Surface.Setup,
        @escaping @Sendable (Surface.Setup) async throws -> Surface.Implementation
      ) -> Void
  ) where Surface.Implementation: Sendable {
    self.init(id, fault, breaks: breaks) { (subject: inout Subject<Surface>) in
      let make = subject.environment.make
      subject.environment.make = { setup, log in
        var instance = try await make(setup, log)
        change(&instance.implementation, instance.testDouble, setup) { try await make($0, log).implementation }
        return instance
      }
    }
  }

  /// Makes a mutant of scripted implementations.
  init<Surface: APISurface>(
    _ id: String, _ fault: String, breaks: [String],
    _ change: @escaping @Sendable (inout Surface.Implementation, FaultContext<Surface>) -> Void
  ) {
    self.init(id, fault, breaks: breaks, of: Surface.self) { implementation, testDouble, setup, make in
      guard let testDouble else { return }
      change(&implementation, FaultContext(testDouble: testDouble, setup: setup, make: make))
    }
  }

  /// Makes a mutant that is set up wrongly.
  init<Surface: APISurface>(
    _ id: String, _ fault: String, breaks: [String], of surface: Surface.Type,
    setup change: @escaping @Sendable (inout Surface.Setup) -> Void
  ) {
    self.init(id, fault, breaks: breaks) { (subject: inout Subject<Surface>) in
      let make = subject.environment.make
      subject.environment.make = { setup, log in
        var setup = setup
        change(&setup)
        return try await make(setup, log)
      }
    }
  }

  /// Makes a mutant of image generation.
  init(
    _ id: String, _ fault: String, breaks: [String],
    change: @escaping @Sendable (inout DiffusionImplementation, FaultContext<DiffusionSurface>) -> Void
  ) { self.init(id, fault, breaks: breaks, change) }

  /// Makes a mutant of the engine below.
  init(_ id: String, _ fault: String, breaks: [String], backend: @escaping @Sendable (any GenBackend) -> any GenBackend) {
    self.init(id, fault, breaks: breaks) { implementation, _ in
      implementation.backend = implementation.backend.map(backend)
    }
  }

  /// Makes a mutant of the metrics.
  init(
    _ id: String, _ fault: String, breaks: [String],
    metrics: @escaping @Sendable (any MetricsImplementation) -> any MetricsImplementation
  ) {
    self.init(id, fault, breaks: breaks, isAboutMetrics: true) { (subject: inout Subject<DiffusionSurface>) in
      if let right = subject.environment.facts.metrics?.implementation {
        subject.environment.facts.metrics?.implementation = metrics(right)
      }
    }
  }
}

/// What stands around a faulty implementation.
struct FaultContext<Surface: APISurface>: Sendable {
  /// The test double below it.
  var testDouble: Surface.TestDouble
  /// How it was made.
  var setup: Surface.Setup
  /// Makes a right implementation in its place.
  var make: @Sendable (Surface.Setup) async throws -> Surface.Implementation
}
