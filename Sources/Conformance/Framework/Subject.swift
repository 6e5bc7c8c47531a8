public import Foundation
public import GenBackend
public import Goldens
public import Tensors

/// An implementation in its surroundings: a column of the result.
public struct Subject: Sendable {
  /// What the implementation stands on.
  public enum Surroundings: Sendable {
    /// A scripted engine, over which it's made anew for each check.
    case scripted(@Sendable (ScriptedBackend) -> any DiffusionImplementation)
    /// An engine that computes.
    case engine(EngineUnderTest)
    /// Those of another API than the diffusion one.
    case surface(any SurfaceSurroundings)
  }

  /// The implementation's name, as in files of known failures.
  public var name: String
  /// Its version.
  public var version: String
  /// What it stands on.
  public var surroundings: Surroundings
  /// The metrics that are reported about it; nil skips the checks of metrics.
  public var metrics: (any MetricsImplementation)?

  /// Makes a subject.
  public init(name: String, version: String, surroundings: Surroundings, metrics: (any MetricsImplementation)? = nil) {
    self.name = name
    self.version = version
    self.surroundings = surroundings
    self.metrics = metrics
  }

  /// Where its checks run.
  public var world: Check.World {
    switch surroundings {
    case .scripted: .scripted
    case .engine: .engine
    case .surface(let surface): surface.world
    }
  }

  /// The API that it offers; only checks of that one judge it.
  public var surface: SurfaceKind {
    switch surroundings {
    case .scripted, .engine: .diffusion
    case .surface(let surface): surface.kind
    }
  }

  /// The heading of its column.
  public var title: String {
    switch surroundings {
    case .scripted: "\(name) over script"
    case .engine(let engine): "\(name) over \(engine.name)"
    case .surface(let surface): "\(name) over \(surface.foundation)"
    }
  }
}

/// An engine that computes, and the models that it may use.
public struct EngineUnderTest: Sendable {
  /// How an engine is set up for a check.
  public struct Setup: Sendable, Hashable {
    /// A compute unit or kernel set of ``EngineUnderTest/units``; nil is the usual one.
    public var unit: String?
    /// Bytes that a generation may take; nil is the usual limit.
    public var memoryLimit: Int?
    /// Makes a setup.
    public init(unit: String? = nil, memoryLimit: Int? = nil) {
      self.unit = unit
      self.memoryLimit = memoryLimit
    }
  }

  /// A fresh implementation, and the engine below it when it's one that speaks `GenBackend`.
  public struct Parts: Sendable {
    /// The implementation.
    public var implementation: any DiffusionImplementation
    /// The engine.
    public var backend: (any GenBackend)?
    /// Makes parts.
    public init(implementation: any DiffusionImplementation, backend: (any GenBackend)? = nil) {
      self.implementation = implementation
      self.backend = backend
    }
  }

  /// The engine's name.
  public var name: String
  /// Model folders by variant.
  public var models: [Surface.Variant: String]
  /// Variants whose model has a safety checker.
  public var checkedVariants: Set<Surface.Variant>
  /// Variants whose model understands prompts of plain coloured shapes; on others the meaning of pictures isn't judged.
  public var promptedVariants: Set<Surface.Variant>
  /// Says in English what a picture of plain shapes shows, by a vision-language model; nil skips the check that asks it.
  public var describe: (@Sendable (Bitmap) async throws -> String)?
  /// Names of other compute units that must agree with the usual one.
  public var units: [String]
  /// Whether ``Setup/memoryLimit`` is heeded.
  public var canLimitMemory: Bool
  /// Reads the engine's memory; nil skips the checks of memory.
  public var memory: MemoryMeter?
  /// Its inner parts, for goldens of operators and blocks; nil skips these.
  public var numerics: (any NumericsImplementation)?
  /// The folder with the goldens and their models.
  public var fixtures: URL?
  /// Makes a fresh implementation.
  public var make: @Sendable (Setup) async throws -> Parts

  /// Makes a description.
  public init(
    name: String, models: [Surface.Variant: String], checkedVariants: Set<Surface.Variant>,
    promptedVariants: Set<Surface.Variant> = Set(Surface.Variant.allCases),
    describe: (@Sendable (Bitmap) async throws -> String)? = nil, units: [String] = [],
    canLimitMemory: Bool = false, memory: MemoryMeter? = nil, numerics: (any NumericsImplementation)? = nil,
    fixtures: URL? = nil, make: @escaping @Sendable (Setup) async throws -> Parts
  ) {
    self.name = name
    self.models = models
    self.checkedVariants = checkedVariants
    self.promptedVariants = promptedVariants
    self.describe = describe
    self.units = units
    self.canLimitMemory = canLimitMemory
    self.memory = memory
    self.numerics = numerics
    self.fixtures = fixtures
    self.make = make
  }
}
