import Foundation
import GenBackend
import Measurement
import Reporting
import Tensors

/// What one process of a run is to do.
struct SessionAssignment: Sendable, Codable {
  /// What is there already of a case, when a session is resumed.
  struct Progress: Sendable, Codable {
    var samples: Int
    var measuredNs: UInt64
  }

  var plan: RunPlan
  var session: Int
  var subject: Int
  var order: Int
  /// The cases that are still to be measured, in order.
  var keys: [String]
  /// Cases whose results are still to be judged.
  var judged: [String]
  var progress: [String: Progress]
  /// The run's folder.
  var folder: String
  /// The model's folder or file.
  var path: String
  var fixtures: String?

  /// The process, as its events name it.
  var process: JournalEvent.Process { .init(session: session, subject: subject, order: order) }
}

/// Measures one subject in one session: loads it, judges and measures its cases, and tells what happens as events.
struct SessionRunner {
  let assignment: SessionAssignment
  let host: any RunHost
  let emit: @Sendable (JournalEvent) throws -> Void

  var plan: RunPlan { assignment.plan }
  var subject: RunPlan.Subject { plan.subjects[assignment.subject] }

  /// A subject that is loaded.
  struct Loaded {
    var engine: any GenBackend
    var engineInfo: BackendInfo
    var info: ModelInfo
    var request: LoadRequest
    var loadNs: UInt64
    var baselineBytes: UInt64?
    var overheadNs: UInt64?
  }

  /// Tells something of the session.
  func tell(_ event: JournalEvent.SessionEvent) throws {
    try emit(JournalEvent(.session(assignment.process, event), tNs: MonotonicTime.nanoseconds()))
  }

  /// Does all of the assignment; a case that fails is told, and the next one goes on.
  ///
  /// - Throws: Only what ends the process: a line that can't be written, a usage error of the engine.
  func run() async throws {
    try tell(.start(pid: ProcessInfo.processInfo.processIdentifier, at: RunDocument.timestamp(Date())))
    let planned = plan.cases.filter { $0.subject == assignment.subject && assignment.keys.contains($0.key) }
    let engine: any GenBackend
    let engineInfo: BackendInfo
    do {
      engine = try await makeEngine()
      engineInfo = try await engine.info
    } catch let error as BackendError {
      for planned in planned { try tell(.ofCase(planned.key, .end(Self.end(error)))) }
      return
    }
    let probe = MemoryProbe { engine.workPlace }
    let overheadNs = await NullBackend.overheadNs(steps: planned.compactMap(\.steps).max() ?? 20)
    let peakIsOwn = probe.resetPeak()
    let sampler = MemorySampler { probe.read() }
    let conditions = Conditions.now()
    let startNs = MonotonicTime.nanoseconds()
    let baseline = probe.read().residentBytes
    if planned.contains(where: { $0.scenario == .cold }) { FileCache.evict(path: assignment.path) }
    let loaded: Loaded
    do {
      loaded = try await load(engine, engineInfo, baselineBytes: baseline, overheadNs: overheadNs)
    } catch let error as BackendError {
      _ = sampler.stop()
      for planned in planned { try tell(.ofCase(planned.key, .end(Self.end(error)))) }
      await engine.close()
      return
    }
    try tell(.loaded(record(loaded), ns: loaded.loadNs))
    for (place, planned) in planned.enumerated() {
      if host.cancellation.isCancelled { break }
      if assignment.judged.contains(planned.key) { try await judge(planned, loaded) }
      let isFirst = place == 0
      let measurer = CaseMeasurer(
        runner: self, planned: planned, loaded: loaded, probe: probe, startNs: isFirst ? startNs : MonotonicTime.nanoseconds())
      let hasOwnPeak = isFirst ? peakIsOwn : probe.resetPeak()
      let ownSampler = isFirst ? sampler : MemorySampler { probe.read() }
      let before = isFirst ? conditions : Conditions.now()
      var ended: JournalEvent.CaseEnd
      do {
        try await measurer.measure()
        ended = Self.end(nil)
      } catch let error as BackendError {
        ended = Self.end(error)
      }
      let readings = ownSampler.stop()
      ended.memory = RunSession.MemoryTimeline(readings, startNs: measurer.startNs)
      ended.conditions = RunSession.ConditionsPair(start: before, end: .now())
      let sampled = readings.compactMap(\.reading.residentBytes).max()
      ended.peakBytes = hasOwnPeak ? probe.read().peakResidentBytes ?? sampled : sampled
      try tell(.ofCase(planned.key, .end(ended)))
    }
    if planned.isEmpty || host.cancellation.isCancelled && assignment.keys.isEmpty { _ = sampler.stop() }
    await loaded.engine.unload(loaded.info.id)
    await loaded.engine.close()
    try tell(.end)
  }

  private func makeEngine() async throws -> any GenBackend {
    var specification = try BackendSpecification(parsing: subject.backend)
    specification.kernels = subject.kernels ?? specification.kernels
    specification.threads = subject.threads ?? specification.threads
    return try await host.makeBackend(specification)
  }

  private func load(
    _ engine: any GenBackend, _ info: BackendInfo, baselineBytes: UInt64?, overheadNs: UInt64?
  ) async throws -> Loaded {
    let request = LoadRequest(
      path: assignment.path, projectorPath: subject.projector, variant: subject.variant.flatMap { ModelVariant(rawValue: $0) },
      reduceMemory: subject.reducesMemory,
      precision: subject.precision)
    let recorder = RequestRecorder()
    let model = try await engine.load(request, control: recorder.control(host.cancellation))
    recorder.finish()
    return Loaded(
      engine: engine, engineInfo: info, info: model, request: request, loadNs: recorder.budget.totalNs,
      baselineBytes: baselineBytes, overheadNs: overheadNs)
  }

  private func judge(_ planned: RunPlan.Case, _ loaded: Loaded) async throws {
    try tell(.beat)
    let gate = AccuracyGate(
      plan: plan, subject: subject, planned: planned, loaded: loaded, host: host, fixtures: assignment.fixtures)
    do {
      if let verdict = try await gate.judge() { try tell(.ofCase(planned.key, .gate(verdict))) }
    } catch let error as BackendError where error.code == .cancelled {
      return
    }
  }

  /// The end of a case, well without an error.
  static func end(_ error: BackendError?) -> JournalEvent.CaseEnd {
    switch error?.code {
    case nil: .init(.pass)
    case .cancelled: .init(.incomplete, reason: "interrupted")
    case .outOfMemory: .init(.outOfMemory, reason: error?.message)
    default: .init(.error, reason: error?.message)
    }
  }

  private func record(_ loaded: Loaded) -> RunSubject {
    var id = "\(subject.name)@\(loaded.engineInfo.name)"
    let twins = plan.subjects.filter { $0.name == subject.name && $0.side == subject.side }
    if Set(twins.map(\.threads)).count > 1, let threads = subject.threads { id += ",threads=\(threads)" }
    if Set(twins.map(\.kernels)).count > 1, let kernels = subject.kernels { id += ",kernels=\(kernels.rawValue)" }
    if Set(twins.map(\.precision)).count > 1 { id += ",precision=\(subject.precision.rawValue)" }
    if Set(twins.map(\.reducesMemory)).count > 1, subject.reducesMemory { id += ",reduce_memory" }
    if let side = subject.side { id += "#\(plan.sides[side].name)" }
    let kind = (try? BackendSpecification(parsing: subject.backend))?.kind.rawValue ?? subject.backend
    return RunSubject(
      id: id,
      backend: .init(
        kind: kind, name: loaded.engineInfo.name, version: loaded.engineInfo.version,
        capabilities: loaded.engineInfo.capabilities.map(\.rawValue).sorted(), details: loaded.engineInfo.details),
      model: .init(
        family: loaded.info.variant, name: subject.name, params: loaded.info.parameterCount, bytes: loaded.info.weightBytes,
        precision: subject.precision.rawValue),
      settings: ["reduce_memory": String(subject.reducesMemory)])
  }
}

/// The system's cache of file contents.
enum FileCache {
  /// Asks the system to forget the contents of a file, or of all files of a folder, so that the next reading is from the disk.
  ///
  /// What another process has mapped stays. Elsewhere than on Linux nothing happens.
  static func evict(path: String) {
    #if os(Linux)
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
      var files = [path]
      if isFolder.boolValue {
        files = (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).map { path + "/" + $0 }
      }
      for file in files {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { continue }
        fsync(descriptor)
        posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
        close(descriptor)
      }
    #endif
  }
}
