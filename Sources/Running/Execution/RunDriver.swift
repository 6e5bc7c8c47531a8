import Foundation
import GenBackend
import Measurement
import Reporting
import Synchronization
import Tensors

/// Runs the processes of a plan one after the other, and keeps what they tell.
final class RunDriver: Sendable {
  private let plan: RunPlan
  /// The cases of this shard; nil is all.
  private let keys: Set<String>?
  private let folder: URL
  private let host: any RunHost
  private let fixtures: String?
  private let display: any RunProgress
  private let journal: JournalWriter
  /// Whether sessions are processes of their own.
  private let isIsolated: Bool

  private struct State {
    var assembler: RunAssembler
    var done = 0
    var openKey: String?
    var failure: (any Error)?
  }
  private let state: Mutex<State>

  init(
    plan: RunPlan, keys: Set<String>?, folder: URL, host: any RunHost, fixtures: String?, display: any RunProgress,
    journal: JournalWriter, assembler: RunAssembler, isIsolated: Bool
  ) {
    self.plan = plan
    self.keys = keys
    self.folder = folder
    self.host = host
    self.fixtures = fixtures
    self.display = display
    self.journal = journal
    self.isIsolated = isIsolated
    state = Mutex(State(assembler: assembler))
  }

  /// Requests of the whole plan, warm-ups included, as far as they can be foreseen.
  static func requestCount(_ plan: RunPlan, keys: Set<String>?) -> Int {
    plan.cases.filter { keys?.contains($0.key) ?? true }.reduce(0) { sum, planned in
      let prompts = plan.subjects[planned.subject].isText ? plan.questions.count : plan.prompts.count
      if planned.scenario == .cold { return sum + plan.effort.sessions }
      return sum + plan.effort.sessions * (plan.effort.warmups + prompts * plan.effort.repetitions)
    }
  }

  /// What was measured so far.
  var assembler: RunAssembler { state.withLock { $0.assembler } }

  /// Measures what is still to be measured; stops early when the command is stopped.
  ///
  /// - Throws: When the journal can't be written, or a full-size model's weights can't be made.
  func drive() async throws {
    // Weights of published sizes are gigabytes: they're written once, for all sessions.
    var generated: [String: String] = [:]
    defer { for folder in generated.values { try? FileManager.default.removeItem(atPath: folder) } }
    for (order, unit) in plan.units(of: keys).enumerated() {
      if host.cancellation.isCancelled { return }
      let subject = plan.subjects[unit.subject]
      var path = subject.path
      if subject.isFullSize, let variant = subject.variant {
        if generated[variant] == nil {
          generated[variant] = try host.writeFullSizeModel(variant, fixtures: fixtures)
        }
        path = generated[variant] ?? path
      }
      try await measure(unit, order: order, path: path)
    }
  }

  private func measure(_ unit: RunPlan.Unit, order: Int, path: String) async throws {
    var refused: Set<String> = []
    while !host.cancellation.isCancelled {
      let assembler = self.assembler
      let open = unit.keys.filter {
        !assembler.isDone(session: unit.session, subject: unit.subject, key: $0) && !refused.contains($0)
      }
      if open.isEmpty { return }
      var progress: [String: SessionAssignment.Progress] = [:]
      for key in open {
        let samples = assembler.sampleCount(session: unit.session, subject: unit.subject, key: key)
        if samples > 0 {
          progress[key] = .init(
            samples: samples, measuredNs: assembler.measuredNs(session: unit.session, subject: unit.subject, key: key))
        }
      }
      let assignment = SessionAssignment(
        plan: plan, session: unit.session, subject: unit.subject, order: order, keys: open,
        judged: open.filter { !assembler.isJudged(subject: unit.subject, key: $0) }, progress: progress, folder: folder.path,
        path: path, fixtures: fixtures)
      state.withLock { $0.openKey = nil }
      if isIsolated {
        try await runProcess(assignment)
      } else {
        let runner = SessionRunner(assignment: assignment, host: host) { [self] event in try take(event) }
        try await runner.run()
      }
      if let failure = state.withLock({ $0.failure }) { throw failure }
      // What is neither done nor failed after an orderly end won't be by asking again.
      let after = self.assembler
      for key in open where !after.isDone(session: unit.session, subject: unit.subject, key: key) { refused.insert(key) }
    }
  }

  /// Keeps an event: on the disk first, then in memory.
  private func take(_ event: JournalEvent) throws {
    if case .session(_, .beat) = event.content { return }
    let ofCase = event.ofCase
    if case .warning(let text) = ofCase?.event, !state.withLock({ $0.assembler.warnings.contains(text) }) {
      host.warn(text)
    }
    try journal.append(event)
    let request = state.withLock { state -> (done: Int, prompt: String)? in
      state.assembler.add(event)
      switch ofCase?.event {
      case .start: state.openKey = ofCase?.key
      case .end: state.openKey = nil
      case .warmup:
        state.done += 1
        return (state.done, "warm-up")
      case .sample(let sample, _, _):
        state.done += 1
        return (state.done, sample.prompt)
      case .gate, .warning, nil: break
      }
      return nil
    }
    if let request, let ofCase {
      display.update(done: request.done, detail: "\(ofCase.key) session \(ofCase.process.session + 1) \(request.prompt)")
    }
  }

  // MARK: - Processes

  private func runProcess(_ assignment: SessionAssignment) async throws {
    let file = folder.appendingPathComponent(".session-\(assignment.order).json")
    do { try JSONEncoder().encode(assignment).write(to: file, options: .atomic) } catch {
      throw CommandError(.cannotWrite, "\(file.path): can't be written: \(error.localizedDescription)")
    }
    defer { try? FileManager.default.removeItem(at: file) }
    let side = plan.subjects[assignment.subject].side.map { plan.sides[$0] }
    let process = SessionProcess(
      executable: side?.executable ?? host.executable ?? "", arguments: [SessionWorker.word, file.path],
      environment: host.environment.merging(side?.environment ?? [:]) { $1 }, timeoutNs: plan.effort.timeoutNs,
      isCancelled: { [cancellation = host.cancellation] in cancellation.isCancelled })
    let (end, errors) = await process.run { [self] line in
      do {
        let event: JournalEvent
        do { event = try JSONDecoder().decode(JournalEvent.self, from: line) } catch {
          // Something in the engine prints to stdout: no line of ours, and no reason to stop.
          host.say("session: " + String(decoding: line.prefix(300), as: UTF8.self))
          return true
        }
        try take(event)
        return true
      } catch {
        state.withLock { $0.failure = error }
        return false
      }
    }
    try close(assignment, end: end, errors: errors)
  }

  /// Tells the cases that a process left open how they ended.
  private func close(_ assignment: SessionAssignment, end: SessionProcess.End, errors: String) throws {
    let status: RunCase.Status
    let reason: String
    let said = errors.isEmpty ? "" : ": \(errors)"
    switch end {
    case .exited(0): return
    case .stopped: (status, reason) = (.incomplete, "interrupted")
    case .exited(let code):
      if let kind = ExitCode(rawValue: code), [.usage, .badInput, .inputMissing, .backendUnavailable].contains(kind) {
        throw CommandError(kind, errors.isEmpty ? "a session ended with exit \(code)" : errors)
      }
      (status, reason) = (.crash, "the session's process ended with exit \(code)\(said)")
    case .signalled(9):
      (status, reason) = (
        .outOfMemory, "the session's process was killed (signal 9), as the system does when memory runs out\(said)"
      )
    case .signalled(let number): (status, reason) = (.crash, "the session's process died by signal \(number)\(said)")
    case .silent:
      (status, reason) = (
        .timeout, "the session's process said nothing for \(Units.duration(ns: Double(plan.effort.timeoutNs))) and was ended"
      )
    case .failed(let message): throw CommandError(.backendUnavailable, message)
    }
    // The case that was being measured; before the first one, the model was being loaded, which all of them need.
    let open = state.withLock { $0.openKey }
    let assembler = self.assembler
    let affected =
      open.map { [$0] }
      ?? assignment.keys.filter { !assembler.isDone(session: assignment.session, subject: assignment.subject, key: $0) }
    for key in affected where status != .incomplete || open != nil {
      let end = JournalEvent.CaseEnd(
        status, reason: open == nil ? "\(reason) (before its first case)" : reason)
      try take(JournalEvent(.session(assignment.process, .ofCase(key, .end(end))), tNs: MonotonicTime.nanoseconds()))
      if status != .incomplete { host.warn("\(key): \(reason)") }
    }
  }
}
