import Foundation
import GenBackend
import Goldens
import Measurement
import Reporting
import Tensors

/// Makes the document of a run out of what was measured.
struct RunFinisher {
  let plan: RunPlan
  let keys: Set<String>?
  let shard: RunDocument.Shard?
  let labels: [String: String]
  let fixtures: String?
  let context: CommandContext

  /// The document, as yet without an exit.
  ///
  /// - Parameter probesMachine: Whether to find out what the machine reaches, which takes half a second.
  func document(_ assembler: RunAssembler, startedAt: String, probesMachine: Bool) async -> RunDocument {
    let revision = ProjectHome.fixtures(explicit: fixtures, environment: context.environment)
      .flatMap { GitRevision(folder: $0.path) }
    var environment = EnvironmentProbe().read()
    if probesMachine, !context.cancellation.isCancelled {
      let threads = plan.subjects.compactMap(\.threads).max()
      environment.probe = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: MachineProbe.measure(threads: threads)) }
      }
    }
    var run = RunDocument(
      runID: assembler.runID ?? "", createdAt: startedAt,
      tool: .init(
        name: "genbench", version: GenbenchCommandLine.version, commit: revision?.commit, dirty: revision?.isDirty,
        build: .current),
      command: ["genbench"] + context.words, config: plan.record, labels: labels, environment: environment)
    run.planHash = plan.hash
    run.shard = shard
    run.subjects = assembler.loadedSubjects
    run.cases = assembler.cases(of: keys)
    // A run that was stopped tells only the cases that were begun.
    if context.cancellation.isCancelled { run.cases.removeAll { $0.sessions.isEmpty && $0.status == .incomplete } }
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
      guard !subject.isText, subject.backend.hasPrefix("ref"), context.executable != nil,
        runCase.status == .pass || runCase.status == .invalid,
        let width = runCase.parameters.width, let height = runCase.parameters.height
      else { continue }
      let size = ImageSize(width: width, height: height)
      let name = "\(subject.path) \(subject.variant ?? "") \(size)"
      if known[name] == nil {
        known[name] = .some(
          subject.isFullSize
            ? CaseWork.count(fullSize: subject.variant ?? "", size: size)
            : CaseWork.count(path: subject.path, variant: subject.variant, size: size))
      }
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
  static func status(of run: RunDocument, signal: Int32?) -> ProgramExit {
    if let signal {
      return ProgramExit(
        signal == 15 ? .terminated : .interrupted,
        "stopped by a signal; what was measured until then is written, --resume goes on")
    }
    func reason(_ cases: [RunCase], _ what: String) -> String {
      "\(cases.count) of \(run.cases.count) cases \(what): \(cases[0].displayName): \(cases[0].statusReason ?? "no reason")"
    }
    let failed = run.cases.filter(\.status.isFailure)
    if !failed.isEmpty { return ProgramExit(.caseFailed, reason(failed, "failed to run")) }
    let invalid = run.cases.filter { $0.status == .invalid }
    if !invalid.isEmpty { return ProgramExit(.nonconforming, reason(invalid, "give wrong results")) }
    let open = run.cases.filter { $0.status == .incomplete }
    if !open.isEmpty { return ProgramExit(.incomplete, reason(open, "are incomplete")) }
    return .success
  }

  /// A name that sorts by time: `20260102-030405`.
  static func folderName(_ date: Date) -> String {
    let format = Date.VerbatimFormatStyle(
      format: """
        \(year: .defaultDigits)\(month: .twoDigits)\(day: .twoDigits)-\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased))\
        \(minute: .twoDigits)\(second: .twoDigits)
        """, timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
    return date.formatted(format)
  }
}
