import Conformance
import Foundation
import GenBackend
import Kernels
import ReferenceEngine
import Reporting
import RunAnywhere
import Running
import TSAIKit
import Tensors

/// What `genbench conform` judges: this repository's API surfaces, over scripts and over the engine of `--backend`.
struct ConformSubjects {
  /// The engine.
  var backend: BackendSpecification
  /// The folder with the small models and the goldens.
  var fixtures: URL
  /// Makes engines.
  var makeBackend: @Sendable (BackendSpecification) async throws -> any GenBackend
  /// Whether the engine's memory belongs to this process alone, so that it can be judged.
  var judgesMemory = true

  /// The implementation's version.
  static let version = GenbenchCommandLine.version

  /// The variants whose small model in the repository is trained.
  static let promptedVariants: Set<Surface.Variant> = [.sd15, .sd20, .sdxl]

  /// `RunAnywhere` over a scripted engine.
  static var scripted: Subject {
    Subject(
      name: "RunAnywhere", version: version,
      surroundings: .scripted { engine in
        RunAnywhereImplementation(session: DiffusionSession(backend: engine) { engine.clock.nowNs })
      }, metrics: RunMetrics())
  }

  /// All surfaces over scripts, one an API.
  static var allScripted: [Subject] { [scripted, scriptedVision, scriptedRegistry, scriptedTSAI, scriptedPlayground] }

  /// All surfaces over the engine.
  func allOverEngine() throws -> [Subject] {
    [try engine()] + visionOverEngine() + [try playgroundOverEngine(), try tsaiOverEngine()].compactMap { $0 }
  }

  /// `RunAnywhere` over the engine.
  func engine() throws -> Subject {
    var models: [Surface.Variant: String] = [:]
    for variant in Surface.Variant.allCases {
      // A variant without a trained model is a link to a random one; what copies a model needs the folder itself.
      let path = fixtures.appendingPathComponent("Models/\(variant.rawValue)").resolvingSymlinksInPath().path
      if FileManager.default.fileExists(atPath: path + "/model_index.json") { models[variant] = path }
    }
    let isReference = backend.kind == .reference
    let engine = EngineUnderTest(
      name: backend.kind.rawValue, models: models, checkedVariants: [.sd15], promptedVariants: Self.promptedVariants,
      describe: describer(), units: isReference ? ["kernels=reference", "threads=1"] : [], canLimitMemory: isReference,
      memory: isReference && judgesMemory ? Self.memory : nil,
      numerics: isReference ? try ReferenceNumerics(backend, fixtures: fixtures) : nil, fixtures: fixtures
    ) { [self] setup in
      let engine = try await make(setup)
      return EngineUnderTest.Parts(
        implementation: RunAnywhereImplementation(session: DiffusionSession(backend: engine)), backend: engine)
    }
    return Subject(name: "RunAnywhere", version: Self.version, surroundings: .engine(engine), metrics: RunMetrics())
  }

  /// What the small vision-language model says of a picture; nil without that model.
  private func describer() -> (@Sendable (Bitmap) async throws -> String)? {
    let folder = fixtures.appendingPathComponent("Models/smolvlm").path
    guard FileManager.default.fileExists(atPath: folder + "/model.gguf") else { return nil }
    let (backend, makeBackend) = (backend, makeBackend)
    return { picture in
      let engine = try await makeBackend(backend)
      let load = LoadRequest(path: folder + "/model.gguf", projectorPath: folder + "/mmproj.gguf")
      let model = try await engine.load(load, control: GenerationControl()).id
      let request = TextRequest(model: model, prompt: "Describe this image.", image: picture, maxTokens: 60)
      let said = try await engine.generateText(request, control: GenerationControl()).text
      await engine.unload(model)
      return said
    }
  }

  private func make(_ setup: EngineUnderTest.Setup) async throws -> any GenBackend {
    var specification = backend
    switch setup.unit {
    case "kernels=reference": specification.kernels = .reference
    case "threads=1": specification.threads = 1
    default: break
    }
    guard let limit = setup.memoryLimit else { return try await makeBackend(specification) }
    var options = ReferenceBackend.Options(memoryLimit: limit)
    options.threads = specification.threads
    if let name = specification.kernels, let choice = KernelChoice(rawValue: name.rawValue) { options.kernels = choice }
    return try ReferenceBackend(options: options)
  }

  /// What the engine's tensors hold; mapped weights aren't counted.
  private static let memory = MemoryMeter(
    reset: {
      BufferPool.current.trim()
      BufferPool.current.resetPeak()
    }, peakBytes: { BufferPool.current.statistics.peakBytes }, liveBytes: { BufferPool.current.statistics.liveBytes })
}
