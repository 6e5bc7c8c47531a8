import Conformance
import ConformanceAdapters
import ConformanceDoubles
import Foundation
import GenBackend
import KernelContract
import Kernels
import ModelRegistry
import PlaygroundKit
import ReferenceEngine
import ReferenceNumerics
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
  static let promptedVariants: Set<DiffusionSurface.Variant> = [.sd15, .sd20, .sdxl]

  private static func subject<Surface: APISurface>(
    _ name: String, _ surface: Surface.Type, _ environment: Environment<Surface>
  ) -> AnySubject {
    AnySubject(Subject(name: name, version: version, environment: environment))
  }

  // MARK: - Over scripts

  /// All surfaces over scripts, one an API.
  static let allScripted: [AnySubject] = [
    scripted,
    subject(
      "RunAnywhere", VisionSurface.self,
      .scripted { engine, setup in
        .runAnywhere(SDKInstance(backend: engine, registry: registry(setup.folder)) { engine.nowNs })
      }),
    subject(
      "RunAnywhere", RegistrySurface.self,
      .scripted { setup in
        guard setup.isInitialized else { return .runAnywhere(SDKInstance()) }
        var policy = DownloadPolicy(waitsForDisk: false, wait: setup.wait)
        if let free = setup.freeBytes { policy.freeBytes = { _ in free } }
        // An engine that loads whatever there is.
        return .runAnywhere(
          SDKInstance(backend: MeasuredBackend(side: 512), registry: ModelRegistry(folder: setup.folder, policy: policy)))
      }),
    subject("TSAIKit", TSAISurface.self, .scripted { service, scheduler in .tsaiKit(service, scheduler: scheduler) }),
    subject("PlaygroundKit", PlaygroundSurface.self, .scripted { engine, setup in try await .playgroundKit(engine, setup) }),
  ]

  /// `RunAnywhere` over a scripted engine.
  static let scripted = subject(
    "RunAnywhere", DiffusionSurface.self,
    .scripted(metrics: RunMetrics()) { engine in
      .runAnywhere(SDKInstance(backend: engine, registry: unusedRegistry) { engine.nowNs })
    })

  private static func registry(_ folder: URL) -> ModelRegistry {
    ModelRegistry(folder: folder, policy: DownloadPolicy(waitsForDisk: false))
  }

  /// A store without models, for environments that load by path.
  private static let unusedRegistry = registry(
    FileManager.default.temporaryDirectory.appendingPathComponent("genbench-no-models-\(UUID().uuidString)"))

  // MARK: - Over the engine

  /// All surfaces over the engine.
  func allOverEngine() throws -> [AnySubject] {
    [try engine()] + visionOverEngine() + [playgroundOverEngine(), tsaiOverEngine()].compactMap { $0 }
  }

  /// `RunAnywhere` over the engine.
  private func engine() throws -> AnySubject {
    var models: [DiffusionSurface.Variant: String] = [:]
    for variant in DiffusionSurface.Variant.allCases {
      // A variant without a trained model is a link to a random one; what copies a model needs the folder itself.
      let path = fixtures.appendingPathComponent("Models/\(variant.rawValue)").resolvingSymlinksInPath().path
      if FileManager.default.fileExists(atPath: path + "/model_index.json") { models[variant] = path }
    }
    let isReference = backend.kind == .reference
    let facts = DiffusionSurface.Facts(
      models: models, checkedVariants: [.sd15], promptedVariants: Self.promptedVariants, describe: describer(),
      units: isReference ? ["kernels=reference", "threads=1"] : [], canLimitMemory: isReference,
      memory: isReference && judgesMemory ? Self.memory : nil,
      numerics: isReference ? ReferenceNumerics(kernels: try kernels(), fixtures: fixtures) : nil, fixtures: fixtures,
      metrics: .scripted(RunMetrics()))
    return Self.subject(
      "RunAnywhere", DiffusionSurface.self,
      Environment(backend.kind.rawValue, facts: facts) { [self] setup, _ in
        let engine = try await make(setup)
        var implementation = DiffusionImplementation.runAnywhere(SDKInstance(backend: engine, registry: Self.unusedRegistry))
        implementation.backend = engine
        return .init(implementation)
      })
  }

  /// The kernels that the engine uses.
  private func kernels() throws -> any KernelSet {
    try KernelFactory.make(backend.kernels.flatMap { KernelChoice(rawValue: $0.rawValue) } ?? .fast, threads: backend.threads)
  }

  /// What the small vision-language model says of a picture; nil without that model.
  private func describer() -> (@Sendable (Bitmap) async throws -> String)? {
    let folder = fixtures.appendingPathComponent("Models/smolvlm").path
    guard FileManager.default.fileExists(atPath: folder + "/model.gguf") else { return nil }
    return { [backend, makeBackend] picture in
      let engine = try await makeBackend(backend)
      let load = LoadRequest(path: folder + "/model.gguf", projectorPath: folder + "/mmproj.gguf")
      let model = try await engine.load(load, control: GenerationControl()).id
      let request = TextRequest(model: model, prompt: "Describe this image.", image: picture, maxTokens: 60)
      let said = try await engine.generateText(request, control: GenerationControl()).text
      await engine.unload(model)
      return said
    }
  }

  private func make(_ setup: DiffusionSurface.Setup) async throws -> any GenBackend {
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

  /// The vision part of `RunAnywhere` with each small vision-language model that is at hand.
  private func visionOverEngine() -> [AnySubject] {
    ["smolvlm", "qwen2vl"].compactMap { variant in
      let folder = fixtures.appendingPathComponent("Models/\(variant)")
      let files = (main: folder.appendingPathComponent("model.gguf"), projector: folder.appendingPathComponent("mmproj.gguf"))
      guard FileManager.default.fileExists(atPath: files.main.path), FileManager.default.fileExists(atPath: files.projector.path)
      else { return nil }
      return Self.subject(
        "RunAnywhere", VisionSurface.self,
        Environment("\(backend.kind.rawValue) with \(variant)", facts: VisionSurface.Facts(files: files)) {
          [backend, makeBackend] setup, _ in
          .init(.runAnywhere(SDKInstance(backend: try await makeBackend(backend), registry: Self.registry(setup.folder))))
        })
    }
  }

  /// The folder of the smallest image model; nil without one.
  private var smallImageModel: String? {
    let path = fixtures.appendingPathComponent("Models/sd15").path
    return FileManager.default.fileExists(atPath: path + "/model_index.json") ? path : nil
  }

  private func loaded(_ model: String) async throws -> (engine: any GenBackend, model: ModelInfo) {
    let engine = try await makeBackend(backend)
    return (engine, try await engine.load(LoadRequest(path: model, safety: .off), control: GenerationControl()))
  }

  /// `PlaygroundKit` with the smallest model at hand; nil without one.
  private func playgroundOverEngine() -> AnySubject? {
    guard let model = smallImageModel else { return nil }
    return Self.subject(
      "PlaygroundKit", PlaygroundSurface.self,
      Environment(backend.kind.rawValue) { _, _ in
        let (engine, info) = try await loaded(model)
        var settings = ImagePlaygroundSystem.Settings()
        settings.steps = 2
        settings.seed = 7
        return .init(.playgroundKit(ImagePlaygroundSystem(backend: engine, model: info, settings: settings)))
      })
  }

  /// `TSAIKit` with the smallest model at hand; nil without one.
  private func tsaiOverEngine() -> AnySubject? {
    guard let model = smallImageModel else { return nil }
    return Self.subject(
      "TSAIKit", TSAISurface.self,
      Environment(backend.kind.rawValue) { _, _ in
        let (engine, info) = try await loaded(model)
        return .init(.tsaiKit(provider: BackendImageProvider(backend: engine, model: info, steps: 2, seed: 7)))
      })
  }
}
