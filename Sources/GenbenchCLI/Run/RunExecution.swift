import Checkpoints
import Foundation
import Measurement
import Reporting

/// Carries out a plan: measures it, and writes all files of the run.
struct RunExecution {
  let plan: RunPlan
  let folder: URL
  let context: CommandContext
  /// The cases that are wanted; nil is all.
  var keys: Set<String>?
  var shard: RunDocument.Shard?
  var labels: [String: String] = [:]
  var fixtures: String?
  /// Whether sessions are processes of their own.
  var isIsolated: Bool
  var drawsFigures = true
  /// What was measured before, when the run is resumed.
  var resumed: Journal.Content?

  init(plan: RunPlan, folder: URL, context: CommandContext) {
    self.plan = plan
    self.folder = folder
    self.context = context
    isIsolated = context.executable != nil
  }

  /// Measures what isn't measured yet.
  ///
  /// - Returns: The run as it was written, and how it went.
  /// - Throws: When the folder can't be written, or holds another run.
  func run(date: Date) async throws -> (RunDocument, ProgramExit) {
    let writer = try JournalWriter(folder.appendingPathComponent(Journal.fileName), keeping: resumed?.wholeBytes)
    if resumed == nil { try AtomicFile.write(try plan.json(), to: folder.appendingPathComponent("plan.json").path) }
    var random = SystemRandomNumberGenerator()
    var assembler = RunAssembler(plan: plan)
    for event in resumed?.events ?? [] { assembler.add(event) }
    let begun = JournalEvent(
      .runStart(
        .init(
          runID: assembler.runID ?? RunDocument.makeRunID(date: date, using: &random), at: RunDocument.timestamp(date),
          planHash: plan.hash, shard: shard)), tNs: 0)
    try writer.append(begun)
    assembler.add(begun)
    warnOfFaults()

    let total = RunDriver.requestCount(plan, keys: keys)
    let display = ProgressDisplay("run", total: total, console: context.console)
    let driver = RunDriver(
      plan: plan, keys: keys, folder: folder, context: context, fixtures: fixtures, display: display, journal: writer,
      assembler: assembler, isIsolated: isIsolated)
    var failure: (any Error)?
    do { try await driver.drive() } catch { failure = error }
    display.finish()
    let finisher = RunFinisher(plan: plan, keys: keys, shard: shard, labels: labels, fixtures: fixtures, context: context)
    var run = await finisher.document(
      driver.assembler, startedAt: driver.assembler.startedAt ?? RunDocument.timestamp(date), probesMachine: isIsolated)
    // Whatever went wrong, what was measured so far is written.
    let status =
      failure.map { ProgramExit($0, signal: context.interrupts.signal) }
      ?? RunFinisher.status(of: run, signal: context.interrupts.signal)
    run.status = [0, 3, 7].contains(status.code) ? .complete : .incomplete
    run.exit = .init(code: status.code, reason: status.reason)
    try writer.append(JournalEvent(.runEnd(run.exit), tNs: 0))
    try RunFiles(folder: folder, console: context.console, environment: context.environment)
      .write(run, drawsFigures: drawsFigures)
    return (run, status)
  }

  private func warnOfFaults() {
    let faults = [context.environment["GENBENCH_FAULT"]] + plan.sides.map { $0.environment["GENBENCH_FAULT"] }
    for fault in faults.compactMap({ $0 }) where !fault.isEmpty {
      context.console.warn(
        "GENBENCH_FAULT=\(fault): THE ENGINE IS MADE SLOW OR WRONG ON PURPOSE; these numbers say nothing about it")
    }
  }
}
