package import Foundation
import GenBackend
import Goldens
import Measurement
package import Reporting
import Tensors

/// Makes the document of a run out of what was measured.
package struct RunFinisher {
  let plan: RunPlan
  let keys: Set<String>?
  let shard: RunDocument.Shard?
  let labels: [String: String]
  let fixtures: String?
  let host: any RunHost

  /// The document, as yet without an exit.
  ///
  /// - Parameter probesMachine: Whether to find out what the machine reaches, which takes half a second.
  func document(_ assembler: RunAssembler, startedAt: String, probesMachine: Bool) async -> RunDocument {
    let revision = ProjectHome.fixtures(explicit: fixtures, environment: host.environment)
      .flatMap { GitRevision(folder: $0.path) }
    var environment = EnvironmentProbe().read()
    if probesMachine, !host.cancellation.isCancelled {
      let threads = plan.subjects.compactMap(\.threads).max()
      environment.probe = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: host.probeMachine(threads: threads)) }
      }
    }
    var run = RunDocument(
      runID: assembler.runID ?? "", createdAt: startedAt,
      tool: .init(
        name: "genbench", version: host.version, commit: revision?.commit, dirty: revision?.isDirty,
        build: .current),
      command: ["genbench"] + host.words, config: plan.record, labels: labels, environment: environment)
    run.planHash = plan.hash
    run.shard = shard
    run.subjects = assembler.loadedSubjects
    run.cases = assembler.cases(of: keys)
    // A run that was stopped tells only the cases that were begun.
    if host.cancellation.isCancelled { run.cases.removeAll { $0.sessions.isEmpty && $0.status == .incomplete } }
    addWork(&run)
    run.faults = Array(Set(run.subjects.compactMap { $0.backend.details["fault"] })).sorted()
    run.warnings = assembler.warnings + Self.conditionWarnings(run)
    return run
  }

  /// Operations and bytes, counted by dry runs; each size of each model once.
  private func addWork(_ run: inout RunDocument) {
    var known: [String: [String: StageWork]?] = [:]
    for index in run.cases.indices {
      let runCase = run.cases[index]
      guard let planned = plan.cases.first(where: { $0.key == runCase.key && plan.side(of: $0) == runCase.side }) else {
        continue
      }
      let subject = plan.subjects[planned.subject]
      guard !subject.isText, subject.backend.hasPrefix("ref"), host.executable != nil,
        runCase.status == .pass || runCase.status == .invalid,
        let width = runCase.parameters.width, let height = runCase.parameters.height
      else { continue }
      let size = ImageSize(width: width, height: height)
      let name = "\(subject.path) \(subject.variant ?? "") \(size)"
      if known[name] == nil { known[name] = .some(host.work(of: subject, size: size)) }
      run.cases[index].work = known[name] ?? nil
    }
  }

  /// What was wrong around the measurement.
  static func conditionWarnings(_ run: RunDocument) -> [String] {
    let sessions = run.cases.flatMap(\.sessions)
    var warnings: [String] = []
    let pressure = sessions.compactMap { $0.conditions?.start.psiCPUSomeAvg10 }.max()
    if let pressure, pressure > 20 {
      warnings.append(
        "the machine was busy: somebody waited for a CPU \(Units.significant(pressure, digits: 2)) % of the time before a case")
    }
    let stalls = sessions.compactMap { $0.memory?.longestGapNs }.filter { $0 > 2_000_000_000 }
    if let longest = stalls.max() {
      warnings.append(
        "in \(stalls.count) session\(stalls.count == 1 ? "" : "s") the whole process stood still for up to "
          + "\(Units.duration(ns: Double(longest))): the machine was suspended or starved")
    }
    let steal = sessions.compactMap { $0.conditions?.stealPercent }.max()
    if let steal, steal > 1 {
      warnings.append("the host took away up to \(Units.significant(steal, digits: 2)) % of the time (steal)")
    }
    if sessions.contains(where: { ($0.conditions?.throttled ?? 0) > 0 }) {
      warnings.append("the processor was slowed down by heat")
    }
    if sessions.contains(where: { $0.conditions?.end.isOnBattery == true }) { warnings.append("the machine ran on its battery") }
    return warnings
  }

  /// Stopped beats failed to run beats wrong beats incomplete beats good.
  package static func exit(of run: RunDocument, signal: Int32?) -> RunDocument.Exit {
    func exit(_ code: ExitCode, _ reason: String? = nil) -> RunDocument.Exit { .init(code: code.rawValue, reason: reason) }
    func reason(_ cases: [RunCase], _ what: String) -> String {
      "\(cases.count) of \(run.cases.count) cases \(what): \(cases[0].displayName): \(cases[0].statusReason ?? "no reason")"
    }
    if let signal {
      return exit(
        signal == 15 ? .terminated : .interrupted,
        "stopped by a signal; what was measured until then is written, --resume goes on")
    }
    let failed = run.cases.filter(\.status.isFailure)
    if !failed.isEmpty { return exit(.caseFailed, reason(failed, "failed to run")) }
    let invalid = run.cases.filter { $0.status == .invalid }
    if !invalid.isEmpty { return exit(.nonconforming, reason(invalid, "give wrong results")) }
    let open = run.cases.filter { $0.status == .incomplete }
    if !open.isEmpty { return exit(.incomplete, reason(open, "are incomplete")) }
    return exit(.success)
  }

  /// A name that sorts by time: `20260102-030405`.
  package static func folderName(_ date: Date) -> String {
    let format = Date.VerbatimFormatStyle(
      format: """
        \(year: .defaultDigits)\(month: .twoDigits)\(day: .twoDigits)-\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased))\
        \(minute: .twoDigits)\(second: .twoDigits)
        """, timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
    return date.formatted(format)
  }
}
