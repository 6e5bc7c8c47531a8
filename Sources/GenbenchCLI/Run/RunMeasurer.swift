import Checkpoints
import Foundation
import GenBackend
import Imaging
import Measurement
import Reporting
import Synchronization
import Tensors

/// Loads each model, makes all its images, and keeps what was measured.
struct RunMeasurer {
  let settings: RunSettings
  let context: CommandContext
  let engine: any GenBackend
  let engineInfo: BackendInfo
  let display: ProgressDisplay
  let fixtures: String?
  private let done = Counter()

  /// A number that only grows.
  private final class Counter: Sendable {
    private let value = Mutex(0)
    func next() -> Int {
      value.withLock {
        $0 += 1
        return $0
      }
    }
  }

  init(
    settings: RunSettings, context: CommandContext, engine: any GenBackend, engineInfo: BackendInfo, display: ProgressDisplay,
    fixtures: String?
  ) {
    self.settings = settings
    self.context = context
    self.engine = engine
    self.engineInfo = engineInfo
    self.display = display
    self.fixtures = fixtures
  }

  /// Measures all models; stops early when the run is cancelled.
  func measure(into run: inout RunDocument) async throws {
    for model in settings.models {
      if context.cancellation.isCancelled { return }
      do {
        try await model.withFiles(fixtures: fixtures, context: context) { path in
          try await measure(model, path: path, into: &run)
        }
      } catch let error as BackendError {
        // Stopped or failed before anything could be loaded.
        run.cases.append(failedLoad(model, subject: "\(model.name)@\(engineInfo.name)", error: error))
      }
    }
  }

  private func measure(_ model: ModelLocation, path: String, into run: inout RunDocument) async throws {
    let probe = MemoryProbe()
    let peakIsOwn = probe.resetPeak()
    let startNs = MonotonicTime.nanoseconds()
    let sampler = MemorySampler()
    let start = Conditions.now()
    let loading = RequestRecorder()
    let subjectID = "\(model.name)@\(engineInfo.name)"
    let info: ModelInfo
    do {
      info = try await engine.load(
        LoadRequest(path: path, variant: model.variant, reduceMemory: settings.reduceMemory, precision: settings.precision),
        control: loading.control(context.cancellation))
    } catch let error as BackendError {
      _ = sampler.stop()
      run.cases.append(failedLoad(model, subject: subjectID, error: error))
      return
    }
    loading.finish()
    run.subjects.append(subject(id: subjectID, model: model, info: info))
    let configurations = settings.configurations(of: info)
    for (index, configuration) in configurations.enumerated() {
      if context.cancellation.isCancelled { break }
      let isFirst = index == 0
      let ownPeak = isFirst ? peakIsOwn : probe.resetPeak()
      var session = RunSession(
        pid: ProcessInfo.processInfo.processIdentifier, startedAt: RunDocument.timestamp(Date()), loadNs: loading.budget.totalNs)
      let caseStartNs = isFirst ? startNs : MonotonicTime.nanoseconds()
      let caseSampler = isFirst ? sampler : MemorySampler()
      let caseStart = isFirst ? start : Conditions.now()
      var runCase = makeCase(model, subject: subjectID, configuration: configuration)
      let folder =
        configurations.count == 1
        ? "images/\(model.name)" : "images/\(model.name)/\(configuration.size)-\(configuration.scheduler)-\(configuration.steps)"
      do {
        try OutputFiles.makeFolder(settings.folder.appendingPathComponent(folder).path)
        try await measure(configuration, of: info, startNs: caseStartNs, folder: folder, session: &session, runCase: &runCase)
        runCase.status = .pass
      } catch let error as BackendError {
        runCase.status = error.code == .cancelled ? .incomplete : error.code == .outOfMemory ? .outOfMemory : .error
        runCase.statusReason = error.code == .cancelled ? "interrupted" : error.message
      }
      let readings = caseSampler.stop()
      session.memory = RunSession.MemoryTimeline(readings, startNs: caseStartNs)
      session.conditions = RunSession.ConditionsPair(start: caseStart, end: .now())
      let peak = ownPeak ? probe.read().peakResidentBytes : readings.compactMap(\.reading.residentBytes).max()
      runCase.sessions = [session]
      runCase.metrics = Self.metrics(of: session, peakBytes: peak)
      run.cases.append(runCase)
    }
    await engine.unload(info.id)
  }

  /// Makes the images of one case; what was done is in `session` even when this throws.
  private func measure(
    _ configuration: RunSettings.Configuration, of info: ModelInfo, startNs: UInt64, folder: String, session: inout RunSession,
    runCase: inout RunCase
  ) async throws {
    var request = ImageRequest(model: info.id, prompt: "")
    request.size = configuration.size
    request.steps = configuration.steps
    request.scheduler = configuration.scheduler == "default" ? nil : configuration.scheduler
    request.guidanceScale = settings.guidanceScale
    request.negativePrompt = settings.negativePrompt
    for _ in 0..<settings.warmups {
      request.prompt = settings.prompts[0]
      request.seed = settings.seed
      let recorder = RequestRecorder()
      _ = try await engine.generateImages(request, control: recorder.control(context.cancellation))
      recorder.finish()
      session.warmupNs.append(recorder.budget.totalNs)
      display.update(done: done.next(), detail: "\(runCase.caseID) warm-up")
    }
    for repetition in 0..<settings.repetitions {
      for (index, prompt) in settings.prompts.enumerated() {
        request.prompt = prompt
        let seed = settings.seed &+ UInt64(index)
        request.seed = seed
        let console = context.console
        let recorder = RequestRecorder { event in
          if case .warning(let text) = event, repetition == 0 { console.warn("prompt \(index): \(text)") }
        }
        let result = try await engine.generateImages(request, control: recorder.control(context.cancellation))
        guard let image = result.images.first else {
          throw BackendError(.processingFailed, "the backend returned no image for prompt \(index)")
        }
        let path = "\(folder)/\(Self.number(index))-\(Prompts.slug(prompt)).png"
        let text = GenerationParameters(request: request, result: result, image: image, model: info.variant).text
        try recorder.measure(Stage(rawValue: "png")) {
          let bytes = try PNGFile.encode(image.bitmap, texts: [PNGFile.Text("parameters", text)])
          try AtomicFile.write(Data(bytes), to: settings.folder.appendingPathComponent(path).path)
        }
        recorder.finish()
        let parts = recorder.budget
        session.samples.append(
          RunSession.Sample(
            index: session.samples.count, prompt: prompt, repetition: repetition, seed: seed,
            startNs: recorder.startNs - min(startNs, recorder.startNs), budget: parts, safety: image.safety.rawValue, image: path)
        )
        if repetition == 0 { runCase.artifacts.append(path) }
        display.update(done: done.next(), detail: "\(runCase.caseID) \(prompt)")
      }
    }
  }

  private static func number(_ index: Int) -> String { index < 10 ? "0\(index)" : String(index) }

  private func makeCase(_ model: ModelLocation, subject: String, configuration: RunSettings.Configuration) -> RunCase {
    RunCase(
      caseID: "\(model.name)/\(configuration.size)/\(configuration.scheduler)/\(configuration.steps)", subject: subject,
      parameters: .init(
        steps: configuration.steps, width: configuration.size.width, height: configuration.size.height,
        guidance: settings.guidanceScale, scheduler: configuration.scheduler, seed: settings.seed))
  }

  private func failedLoad(_ model: ModelLocation, subject: String, error: BackendError) -> RunCase {
    let configuration = RunSettings.Configuration(
      size: settings.sizes.first ?? ImageSize(width: 0, height: 0), steps: settings.steps.first ?? 0,
      scheduler: settings.schedulers.first ?? "default")
    var failed = makeCase(model, subject: subject, configuration: configuration)
    failed.caseID = "\(model.name)/load"
    failed.status = error.code == .cancelled ? .incomplete : error.code == .outOfMemory ? .outOfMemory : .error
    failed.statusReason = error.code == .cancelled ? "interrupted" : error.message
    return failed
  }

  private func subject(id: String, model: ModelLocation, info: ModelInfo) -> RunSubject {
    RunSubject(
      id: id,
      backend: .init(
        kind: settings.backend.kind.rawValue, name: engineInfo.name, version: engineInfo.version,
        capabilities: engineInfo.capabilities.map(\.rawValue).sorted(), details: engineInfo.details),
      model: .init(
        family: info.variant, name: model.name, params: info.parameterCount, bytes: info.weightBytes,
        precision: settings.precision),
      settings: ["reduce_memory": String(settings.reduceMemory)])
  }

  /// All quantities of a case, out of its samples.
  static func metrics(of session: RunSession, peakBytes: UInt64?) -> [RunCase.Metric] {
    var metrics: [RunCase.Metric] = []
    func add(_ name: String, scope: String, _ values: [UInt64], unit: String = "ns") {
      if !values.isEmpty { metrics.append(.init(name: name, unit: unit, scope: scope, values: values.map { Double($0) })) }
    }
    let samples = session.samples
    add("load_cold_ns", scope: "load", session.loadNs.map { [$0] } ?? [])
    add("e2e_ns", scope: "run", samples.map(\.e2eNs))
    let stages = Set(samples.flatMap(\.stagesNs.keys))
    for stage in stages.sorted() where stage != Stage.step.rawValue {
      add("\(stage)_ns", scope: "stage", samples.compactMap { $0.stagesNs[stage] })
    }
    add("first_step_ns", scope: "step", samples.compactMap(\.stepsNs.first))
    add("step_ns", scope: "step", samples.flatMap(\.stepsNs))
    for part in Set(samples.flatMap(\.stepPartsNs.keys)).sorted() {
      add("step_\(part)_ns", scope: "step", samples.flatMap { $0.stepPartsNs[part] ?? [] })
    }
    add("unaccounted_ns", scope: "run", samples.map(\.unaccountedNs))
    add("peak_rss_bytes", scope: "run", peakBytes.map { [$0] } ?? [], unit: "bytes")
    return metrics
  }
}
