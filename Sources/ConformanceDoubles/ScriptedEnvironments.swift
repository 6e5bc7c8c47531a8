public import Conformance
import Tensors

extension MetricsUnderTest {
  /// What reports metrics, given engines of little images to measure.
  public static func scripted(_ implementation: any MetricsImplementation) -> MetricsUnderTest {
    MetricsUnderTest(implementation) { failure, holdingBytes in
      guard let failure else { return MeasuredBackend(holdingBytes: holdingBytes) }
      return MeasuredBackend(failingAt: failure.request, with: failure.error, holdingBytes: holdingBytes)
    }
  }
}

extension Environment where Surface == DiffusionSurface {
  /// Implementations over engines that follow a script.
  ///
  /// - Parameters:
  ///   - metrics: What reports metrics about them; nil skips the checks of metrics.
  ///   - make: Makes an implementation over an engine.
  public static func scripted(
    metrics: (any MetricsImplementation)? = nil,
    make: @escaping @Sendable (ScriptedBackend) async throws -> DiffusionImplementation
  ) -> Self {
    let variants = DiffusionSurface.Variant.allCases
    var facts = DiffusionSurface.Facts(
      models: Dictionary(uniqueKeysWithValues: variants.map { ($0, ScriptedModels.root + $0.rawValue) }),
      checkedVariants: Set(variants), describe: { PictureReader.read($0).sentence }, units: ["other"], canLimitMemory: true,
      metrics: metrics.map(MetricsUnderTest.scripted))
    facts.schedulers = ScriptedBackend.schedulers
    return Self("script", kind: .scripted, facts: facts) { setup, log in
      let engine = ScriptedBackend(script: setup.script, log: log, unitOffset: setup.unit == nil ? 0 : 1)
      var implementation = try await make(engine)
      implementation.backend = engine
      return Instance(implementation, over: engine)
    }
  }
}

extension Environment where Surface == VisionSurface {
  /// Implementations over vision-language engines that follow a script; `setup` has the folder for an implementation's models.
  public static func scripted(
    make: @escaping @Sendable (ScriptedVisionEngine, VisionSurface.Setup) async throws -> VisionImplementation
  ) -> Self {
    Self("a vision script", kind: .scripted, facts: VisionSurface.Facts()) { setup, log in
      let engine = ScriptedVisionEngine(log: log)
      return Instance(try await make(engine, setup), over: engine)
    }
  }
}

extension Environment where Surface == RegistrySurface {
  /// Implementations that download from an HTTP server of the loopback, which misbehaves on demand.
  public static func scripted(
    make: @escaping @Sendable (RegistrySurface.Setup) async throws -> RegistryImplementation
  ) -> Self {
    let facts = RegistrySurface.Facts(startServer: { try ModelServer() }, zip: { ZipBuilder.archive($0) })
    return Self("a scripted server", kind: .scripted, facts: facts) { setup, _ in Instance(try await make(setup)) }
  }
}

extension Environment where Surface == TSAISurface {
  /// Implementations over providers that follow a script; `scheduler` replaces the usual queues unless it's nil.
  public static func scripted(
    make: @escaping @Sendable (ScriptedTSAIService, _ scheduler: SeededScheduler?) async throws -> TSAIImplementation
  ) -> Self {
    Self("script", kind: .scripted) { setup, log in
      let service = ScriptedTSAIService(log: log)
      return Instance(try await make(service, setup.scheduler), over: service)
    }
  }
}

extension Environment where Surface == PlaygroundSurface {
  /// Implementations over engines that follow a script.
  public static func scripted(
    make: @escaping @Sendable (any ScriptedImageEngine, PlaygroundSurface.Setup) async throws -> PlaygroundImplementation
  ) -> Self {
    Self("script", kind: .scripted) { setup, log in
      let engine = setup.engine ?? ScriptedBackend(log: log)
      return Instance(try await make(engine, setup), over: engine)
    }
  }
}
