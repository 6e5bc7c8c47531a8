public import Foundation
public import GenBackend
import KernelContract
public import Kernels
import Synchronization
import Tensors

/// The engine in the box: loads the files that people have and makes the images that diffusers makes.
///
/// A long-lived owner of loaded models. Work runs on a thread of its own, never on Swift's cooperative pool; one request at
/// a time, a second one fails with `busy`.
public final class ReferenceBackend: GenBackend {
  /// How the engine computes.
  public struct Options: Sendable {
    /// Which kernels.
    public var kernels: KernelChoice
    /// Threads of the fast kernels; nil for one a processor.
    public var threads: Int?
    /// The folder with CLIP's `vocab.json` and `merges.txt`, for single-file checkpoints, which carry none.
    public var clipVocabulary: URL?
    /// Bytes that a generation may take beside the mapped weights; nil for what the system has free.
    public var memoryLimit: Int?
    /// Faults to put into the kernels; nil for what `GENBENCH_FAULT` says.
    public var faults: [KernelFault]?

    /// Makes options.
    public init(kernels: KernelChoice = .fast, threads: Int? = nil, clipVocabulary: URL? = nil, memoryLimit: Int? = nil) {
      self.kernels = kernels
      self.threads = threads
      self.clipVocabulary = clipVocabulary
      self.memoryLimit = memoryLimit
    }
  }

  /// A model that answers requests.
  protocol LoadedModel: Sendable {
    var info: ModelInfo { get }
    func generateImages(_ request: ImageRequest, control: GenerationControl) throws -> ImageResult
    func generateText(_ request: TextRequest, control: GenerationControl) throws -> TextResult
  }

  private struct State {
    var models: [ModelID: any LoadedModel] = [:]
    var nextNumber = 1
    var running: (model: ModelID?, token: CancellationToken)?
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let options: Options
  private let kernels: any KernelSet
  private let faults: [KernelFault]
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "genbench.reference-engine", qos: .userInitiated)

  /// Starts the engine.
  ///
  /// - Throws: `KernelSelectionError` when the kernels can't be had on this machine.
  public init(options: Options = Options()) throws {
    self.options = options
    let faults = try options.faults ?? KernelFault.parse(ProcessInfo.processInfo.environment[KernelFault.variable] ?? "")
    self.faults = faults
    kernels = try KernelFactory.make(options.kernels, threads: options.threads, faults: faults)
  }

  /// What the engine is.
  public var info: BackendInfo {
    var details = ["kernels": kernels.name, "threads": String(kernels.threadCount)]
    if !faults.isEmpty { details["fault"] = faults.map(\.description).joined(separator: ",") }
    return BackendInfo(name: "reference", version: "1", capabilities: Set(Capability.allCases), details: details)
  }

  /// Loads a model; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await exclusively(model: nil, control: control) { [self] control in
      let number = state.withLock { state in
        defer { state.nextNumber += 1 }
        return state.nextNumber
      }
      let clock = StageClock(control: control)
      let start = MonotonicTime.nanoseconds()
      let model = try clock.measure(.load) {
        try ModelLoader(options: options, kernels: kernels)
          .load(request, id: ModelID("model-\(number)"), startedAt: start, control: control)
      }
      state.withLock { $0.models[model.info.id] = model }
      return model.info
    }
  }

  /// Frees a model; see ``GenBackend``.
  public func unload(_ model: ModelID) async {
    await withCheckedContinuation { continuation in
      let mustWait = state.withLock { state in
        guard let running = state.running, running.model == model else { return false }
        running.token.cancel()
        state.waiters.append(continuation)
        return true
      }
      if !mustWait { continuation.resume() }
    }
    state.withLock { $0.models[model] = nil }
    BufferPool.current.trim()
  }

  /// Makes images; see ``GenBackend``.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    let model = try loadedModel(request.model)
    return try await exclusively(model: request.model, control: control) { control in
      try model.generateImages(request, control: control)
    }
  }

  /// Makes text; see ``GenBackend``.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    let model = try loadedModel(request.model)
    return try await exclusively(model: request.model, control: control) { control in
      try model.generateText(request, control: control)
    }
  }

  private func loadedModel(_ id: ModelID) throws -> any LoadedModel {
    guard let model = state.withLock({ $0.models[id] }) else {
      throw BackendError(.notLoaded, "model '\(id)' isn't loaded; load it first")
    }
    return model
  }

  /// Runs `body` on the engine's thread, alone; cancelling the calling task cancels the work.
  private func exclusively<Result: Sendable>(
    model: ModelID?, control: GenerationControl, _ body: @escaping @Sendable (GenerationControl) throws -> Result
  ) async throws -> Result {
    let isFree = state.withLock { state in
      guard state.running == nil else { return false }
      state.running = (model, control.cancellation)
      return true
    }
    guard isFree else { throw BackendError(.busy, "another request is running; wait for it or cancel it") }
    defer {
      let waiters = state.withLock { state in
        state.running = nil
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
    return try await withTaskCancellationHandler {
      do {
        return try await withCheckedThrowingContinuation { continuation in
          queue.async {
            continuation.resume(
              with: Swift.Result {
                try control.cancellation.check()
                let result: Result
                do { result = try body(control) } catch {
                  // Operators that stopped half way leave numbers that no check likes.
                  try control.cancellation.check()
                  throw error
                }
                try control.cancellation.check()
                return result
              })
          }
        }
      } catch {
        throw BackendError(translating: error)
      }
    } onCancel: {
      control.cancellation.cancel()
    }
  }
}
