import ExternalBackends
import Foundation
import GenBackend
import Synchronization
import Tensors
import TestSupport
import Testing

/// The engine of the tests: a Python program that breaks the protocol in one way at a time.
enum TestEngine {
  static let script = Fixtures.packageFolder.appendingPathComponent("Tests/ExternalBackendsTests/Engines/engine.py").path

  /// Whether there's a Python that can run it.
  static let isThere: Bool = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/python3") }
  }()

  /// Long enough for a busy machine, where nothing waits for them but a test that fails.
  static let patient = BackendLimits(
    timeoutNs: 300_000_000_000, silenceNs: 240_000_000_000, cancelNs: 240_000_000_000, helloNs: 240_000_000_000,
    terminationNs: 120_000_000_000)

  static func backend(
    _ mistake: String = "none", _ argument: String = "", limits: BackendLimits = patient, processes: EngineProcesses? = nil
  ) -> ProcessBackend {
    ProcessBackend(
      .init(words: ["python3", script, mistake, argument], limits: limits, processes: processes))
  }

  /// A backend with a model.
  static func loaded(
    _ mistake: String = "none", _ argument: String = "", limits: BackendLimits = patient
  ) async throws -> (backend: ProcessBackend, model: ModelInfo) {
    let backend = backend(mistake, argument, limits: limits)
    let model = try await backend.load(LoadRequest(path: "/models/any"), control: GenerationControl())
    return (backend, model)
  }
}

/// Keeps the events of a request.
final class EventLog: Sendable {
  private let kept = Mutex<[GenerationEvent]>([])
  let cancellation = CancellationToken()

  var events: [GenerationEvent] { kept.withLock { $0 } }

  /// Watches a request; `onEvent` sees each event after it was kept.
  func control(_ onEvent: @escaping @Sendable (GenerationEvent) -> Void = { _ in }) -> GenerationControl {
    GenerationControl(cancellation: cancellation) { [self] event in
      kept.withLock { $0.append(event) }
      onEvent(event)
    }
  }

  var steps: [Int] {
    events.compactMap { event in
      guard case .progress(let step, _, _) = event else { return nil }
      return step
    }
  }
}

/// The error of work that must fail.
func failure(_ work: () async throws -> some Any) async -> BackendError? {
  do {
    _ = try await work()
    return nil
  } catch {
    return error as? BackendError ?? BackendError(.processingFailed, "another error: \(error)")
  }
}

/// Expects work to fail with a code.
func expectFailure(
  _ code: BackendError.Code?, sourceLocation: SourceLocation = #_sourceLocation, _ work: () async throws -> some Any
) async {
  let error = await failure(work)
  #expect(error?.code == code, "\(error?.message ?? "no error")", sourceLocation: sourceLocation)
}

/// Whether a process or, with a negative number, any of a group is there.
func isThere(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno == EPERM }
