import Synchronization

/// A generation at work.
package final class RunHandle: Sendable {
  private let task: Task<RunRecord, Never>
  private let gate: Gate?
  private let context: CheckContext<DiffusionSurface>
  private let updateLog: UpdateLog

  init(
    implementation: DiffusionImplementation, options: DiffusionSurface.Options, prompt: String, gate: Gate?,
    context: CheckContext<DiffusionSurface>,
    nowNs: @escaping @Sendable () -> UInt64, handler: @escaping @Sendable (DiffusionSurface.Update, Int) -> Bool
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
      let outcome: Swift.Result<DiffusionSurface.Result, SDKFailure>
      do {
        let result = try await implementation.generate(prompt, options) { update in
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
        let failure = implementation.failure(error)
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
  package var isFinished: Bool { finished.isSet }

  /// All updates until now, also those after the return.
  package var updates: [DiffusionSurface.Update] { updateLog.updates }

  /// Waits until the engine waits; fails when the run ended before.
  package func arrived() async throws {
    guard let gate else { return }
    let hasArrived = try await Timeout.within(context.timeout, "the run reaches its pause") { await gate.arrival() }
    if !hasArrived {
      let record = await task.value
      throw CheckFailure(expected: "the run is at work", seen: "it ended early: \(record.outcome)")
    }
  }

  /// Lets the engine go on.
  package func open() { gate?.open() }

  /// Cancels the task that runs it.
  package func cancelTask() { task.cancel() }

  /// Waits for the end.
  package func value() async throws -> RunRecord {
    let task = task
    return try await Timeout.within(context.timeout, "the generation ends") { await task.value }
  }

  /// Whether it ends by itself while everything else waits.
  func endsWithoutHelp() async -> Bool {
    await Timeout.letOthersRun { isFinished }
    return isFinished
  }
}

/// Collects the updates of one run, and may hold it up.
final class UpdateLog: Sendable {
  private struct State {
    var updates: [DiffusionSurface.Update] = []
    var atWork = 0
    var mostAtWork = 0
    var mainThreadCalls = 0
  }
  private let state = Mutex(State())

  var updates: [DiffusionSurface.Update] { state.withLock { $0.updates } }
  var mostAtWork: Int { state.withLock { $0.mostAtWork } }

  func enter(_ update: DiffusionSurface.Update) -> Int {
    state.withLock { state in
      state.updates.append(update)
      state.atWork += 1
      state.mostAtWork = max(state.mostAtWork, state.atWork)
      return state.updates.count
    }
  }

  func leave() { state.withLock { $0.atWork -= 1 } }
}

/// How a run went.
package struct RunRecord: Sendable {
  /// All calls of the handler, up to the return.
  package var updates: [DiffusionSurface.Update]
  /// What was returned or thrown.
  package var outcome: Swift.Result<DiffusionSurface.Result, SDKFailure>
  /// From the call to the return, in nanoseconds of the subject's clock.
  package var elapsedNs: UInt64
  /// The most handler calls that were at work at once.
  package var mostHandlersAtWork: Int

  /// The result; fails the check when there's none.
  package func result(_ what: String = "the generation") throws -> DiffusionSurface.Result {
    switch outcome {
    case .success(let result): return result
    case .failure(let failure): throw CheckFailure(expected: "\(what) succeeds", seen: failure.description)
    }
  }
}
