import Checkpoints
package import Foundation
import Measurement
package import Reporting

/// Carries out a plan: measures it, and writes all files of the run.
package struct RunExecution {
  private let plan: RunPlan
  private let folder: URL
  private let host: any RunHost
  /// The cases that are wanted; nil is all.
  package var keys: Set<String>?
  package var shard: RunDocument.Shard?
  package var labels: [String: String] = [:]
  package var fixtures: String?
  /// Whether sessions are processes of their own.
  package var isIsolated: Bool
  package var drawsFigures = true
  /// What was measured before, when the run is resumed.
  package var resumed: Journal.Content?

  package init(plan: RunPlan, folder: URL, host: any RunHost) {
    self.plan = plan
    self.folder = folder
    self.host = host
    isIsolated = host.executable != nil
  }

  /// Measures what isn't measured yet.
  ///
  /// - Returns: The run as it was written, with how it went.
  /// - Throws: When the folder can't be written, or holds another run.
  package func run(date: Date) async throws -> RunDocument {
    let writer = try JournalWriter(folder.appendingPathComponent(Journal.fileName), keeping: resumed?.wholeBytes)
    if resumed == nil { try AtomicFile.write(try plan.json(), to: folder.appendingPathComponent("plan.json").path) }
    var random = SystemRandomNumberGenerator()
    var assembler = RunAssembler(plan: plan)
    for event in resumed?.events ?? [] { assembler.add(event) }
    let begun = JournalEvent(
      .runStart(
        runID: assembler.runID ?? RunDocument.makeRunID(date: date, using: &random),
        at: RunDocument.timestamp(date), planHash: plan.hash, shard: shard), tNs: 0)
    try writer.append(begun)
    assembler.add(begun)
    warnOfFaults()

    let total = RunDriver.requestCount(plan, keys: keys)
    let display = host.beginProgress("run", total: total)
    let driver = RunDriver(
      plan: plan, keys: keys, folder: folder, host: host, fixtures: fixtures, display: display, journal: writer,
      assembler: assembler, isIsolated: isIsolated)
    var failure: (any Error)?
    do { try await driver.drive() } catch { failure = error }
    display.finish()
    let finisher = RunFinisher(plan: plan, keys: keys, shard: shard, labels: labels, fixtures: fixtures, host: host)
    var run = await finisher.document(
      driver.assembler, startedAt: driver.assembler.startedAt ?? RunDocument.timestamp(date), probesMachine: isIsolated)
    // Whatever went wrong, what was measured so far is written.
    run.exit = failure.map(host.exit) ?? RunFinisher.exit(of: run, signal: host.signal)
    let complete: [ExitCode] = [.success, .caseFailed, .nonconforming]
    run.status = complete.map(\.rawValue).contains(run.exit.code) ? .complete : .incomplete
    try writer.append(JournalEvent(.runEnd(run.exit), tNs: 0))
    try RunFiles(folder: folder, host: host)
      .write(run, drawsFigures: drawsFigures)
    return run
  }

  private func warnOfFaults() {
    let faults = [host.environment["GENBENCH_FAULT"]] + plan.sides.map { $0.environment["GENBENCH_FAULT"] }
    for fault in faults.compactMap({ $0 }) where !fault.isEmpty {
      host.warn(
        "GENBENCH_FAULT=\(fault): THE ENGINE IS MADE SLOW OR WRONG ON PURPOSE; these numbers say nothing about it")
    }
  }
}
