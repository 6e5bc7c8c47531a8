import Foundation
public import GenBackend
import Synchronization
import Tensors

/// A fresh implementation with what stands around it.
public struct Rig: Sendable {
  /// The implementation.
  public let implementation: any DiffusionImplementation
  /// The engine below it, for checks of tensors; nil when it isn't known.
  public let backend: (any GenBackend)?
  /// The scripted engine; nil over one that computes.
  public let scripted: ScriptedBackend?
  /// Reads the engine's memory.
  public let memory: MemoryMeter?
  private let context: CheckContext
  private let gates = GateList()

  final class GateList: Sendable {
    let gates = Mutex<[Gate]>([])
  }

  init(
    implementation: any DiffusionImplementation, backend: (any GenBackend)?, scripted: ScriptedBackend?, memory: MemoryMeter?,
    context: CheckContext
  ) {
    self.implementation = implementation
    self.backend = backend
    self.scripted = scripted
    self.memory = memory
    self.context = context
  }

  /// The clock that durations are judged by.
  public var nowNs: UInt64 { scripted?.clock.nowNs ?? MonotonicTime.nanoseconds() }

  func openAllGates() {
    scripted?.openAllGates()
    for gate in gates.gates.withLock({ $0 }) { gate.open() }
  }

  // MARK: - Model

  /// Loads a variant's model; an error fails the check.
  public func load(_ configuration: Surface.Configuration, path: String? = nil, id: String? = nil) async throws {
    if let failure = try await tryLoad(configuration, path: path, id: id) {
      throw CheckFailure(expected: "the model of \(configuration.variant.rawValue) loads", seen: failure.description)
    }
  }

  /// Loads a model and gives the error, if one was thrown.
  public func tryLoad(_ configuration: Surface.Configuration, path: String? = nil, id: String? = nil) async throws
    -> Surface.Failure?
  {
    let path = try path ?? context.modelPath(configuration.variant)
    context.log.note("call: load \(path) as \(id ?? configuration.variant.rawValue)")
    do {
      try await implementation.load(
        path: path, id: id ?? configuration.variant.rawValue, name: "Model \(configuration.variant.rawValue)",
        configuration: configuration)
      return nil
    } catch {
      let failure = implementation.failure(of: error)
      context.log.note("call: load throws \(failure)")
      return failure
    }
  }

  // MARK: - Images

  /// Generates to the end.
  ///
  /// - Parameter handler: Sees each update and its number from 1; false asks for the end.
  public func run(
    _ options: Surface.Options, prompt: String? = nil,
    handler: @escaping @Sendable (Surface.Update, Int) -> Bool = { _, _ in true }
  ) async throws -> RunRecord {
    let handle = start(options, prompt: prompt, handler: handler)
    return try await handle.value()
  }

  /// Generates, and gives the result; an error fails the check.
  public func image(_ options: Surface.Options) async throws -> Surface.Result { try await run(options).result() }

  /// Starts a generation.
  ///
  /// - Parameter pauseAfterUpdates: The engine then waits until ``RunHandle/open()``.
  public func start(
    _ options: Surface.Options, prompt: String? = nil, pauseAfterUpdates: Int? = nil,
    handler: @escaping @Sendable (Surface.Update, Int) -> Bool = { _, _ in true }
  ) -> RunHandle {
    var gate: Gate?
    var handler = handler
    if let count = pauseAfterUpdates {
      if let scripted {
        gate = scripted.pauseNextRun(afterSteps: count)
      } else {
        let own = Gate()
        let inner = handler
        handler = { update, number in
          let goesOn = inner(update, number)
          if number == count { own.passBlocking() }
          return goesOn
        }
        gates.gates.withLock { $0.append(own) }
        gate = own
      }
    }
    return RunHandle(
      implementation: implementation, options: options, prompt: prompt ?? options.prompt, gate: gate, context: context,
      nowNs: { [self] in nowNs }, handler: handler)
  }

  /// Runs something that must not hang.
  public func within<Value: Sendable>(_ expected: String, _ operation: @escaping @Sendable () async throws -> Value) async throws
    -> Value
  {
    try await Patience.within(context.patience, expected, operation)
  }
}

/// A generation at work.
public final class RunHandle: Sendable {
  private let task: Task<RunRecord, Never>
  private let gate: Gate?
  private let context: CheckContext
  private let updateLog: UpdateLog

  init(
    implementation: any DiffusionImplementation, options: Surface.Options, prompt: String, gate: Gate?, context: CheckContext,
    nowNs: @escaping @Sendable () -> UInt64, handler: @escaping @Sendable (Surface.Update, Int) -> Bool
  ) {
    let log = UpdateLog()
    updateLog = log
    self.gate = gate
    self.context = context
    let evidence = context.log
    evidence.note("call: generate '\(prompt.prefix(40))'")
    let finished = Flag()
    self.finished = finished
    task = Task {
      let startNs = nowNs()
      let outcome: Swift.Result<Surface.Result, Surface.Failure>
      do {
        let result = try await implementation.generate(prompt: prompt, options: options) { update in
          let number = log.enter(update)
          defer { log.leave() }
          evidence.note("handler: \(update.step)/\(update.total), \(update.progress)\(update.preview == nil ? "" : ", preview")")
          let goesOn = handler(update, number)
          if !goesOn { evidence.note("handler: returns false") }
          return goesOn
        }
        outcome = .success(result)
        evidence.note("call: generate returns")
      } catch {
        let failure = implementation.failure(of: error)
        outcome = .failure(failure)
        evidence.note("call: generate throws \(failure)")
      }
      let elapsed = nowNs() - startNs
      finished.set()
      gate?.abandon()
      return RunRecord(
        updates: log.updates, outcome: outcome, elapsedNs: elapsed, mostHandlersAtWork: log.mostAtWork)
    }
  }

  private let finished: Flag

  /// Whether it has returned or thrown.
  public var isFinished: Bool { finished.isSet }

  /// All updates until now, also those after the return.
  public var updates: [Surface.Update] { updateLog.updates }

  /// Waits until the engine waits; fails when the run ended before.
  public func arrived() async throws {
    guard let gate else { return }
    let hasArrived = try await Patience.within(context.patience, "the run reaches its pause") { await gate.arrival() }
    if !hasArrived {
      let record = await task.value
      throw CheckFailure(expected: "the run is at work", seen: "it ended early: \(record.outcome)")
    }
  }

  /// Lets the engine go on.
  public func open() { gate?.open() }

  /// Cancels the task that runs it.
  public func cancelTask() { task.cancel() }

  /// Waits for the end.
  public func value() async throws -> RunRecord {
    let task = task
    return try await Patience.within(context.patience, "the generation ends") { await task.value }
  }

  /// Whether it ends by itself while everything else waits.
  func endsWithoutHelp() async -> Bool {
    await Patience.letOthersRun { isFinished }
    return isFinished
  }
}
