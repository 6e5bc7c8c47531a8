import Checkpoints
import Foundation
import Goldens
import Kernels
import Measurement
import Reporting
import Running
import Tensors

/// Says what makes this machine noisy or this installation incomplete, and what to do.
struct DoctorCommand: Command {
  static let configuration = CommandDescription(
    name: "doctor", abstract: "Say what makes this machine's numbers doubtful, and what to do about it.",
    options: [
      .invertible("probe", "Measure how steady a fixed piece of work is, and what the machine reaches.", default: "measure"),
      .value("root", "dir", "Read /proc, /sys and /etc below this folder.", default: "/"),
      .value("fixtures", "dir", "The folder with the small models.", default: "found by itself"),
      .flag("strict", "Exit with 8 when something makes numbers doubtful."), .flag("json", "Print JSON."), StoreOptions.option,
    ])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let root = SystemRoot(path: values.string("root") ?? "/")
    if let path = values.string("root"), !FileManager.default.fileExists(atPath: path) {
      throw CommandError(.inputMissing, "--root \(path): no such folder")
    }
    let environment = EnvironmentProbe(root: root).read()
    let conditions = Conditions.now(root: root)
    var findings = Diagnosis.findings(environment: environment, conditions: conditions, build: .current)
    findings += installation(context)
    findings = faults(context) + findings
    var steadiness: Steadiness?
    var probe: EnvironmentRecord.Probe?
    if values.flag("probe") ?? true {
      (steadiness, probe) = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(returning: (Steadiness.measure(), MachineProbe.measure(threads: nil)))
        }
      }
      if let steadiness { findings += Diagnosis.findings(steadiness) }
    }
    findings.sort { $0.level.rank > $1.level.rank }
    if values.flag("json") == true {
      try printJSON(findings, environment, conditions, steadiness, probe, context)
    } else {
      show(findings, environment, conditions, steadiness, probe, context.console)
    }
    let bad = findings.filter { $0.level == .bad }
    if values.flag("strict") == true, let first = bad.first {
      return ProgramExit(.inconclusive, "\(bad.count) things make numbers doubtful: \(first.what)")
    }
    return .success
  }

  private func faults(_ context: CommandContext) -> [Finding] {
    guard let text = context.environment[KernelFault.variable], !text.isEmpty else { return [] }
    do {
      let faults = try KernelFault.parse(text).map(\.description).joined(separator: ", ")
      return [
        Finding(
          .bad, "A FAULT IS INJECTED: \(KernelFault.variable)=\(faults)",
          "The engine is slow or wrong on purpose: unset \(KernelFault.variable).")
      ]
    } catch {
      return [Finding(.bad, error.description, "Unset \(KernelFault.variable), or write it as documented.")]
    }
  }

  private func installation(_ context: CommandContext) -> [Finding] {
    var findings: [Finding] = []
    if Gnuplot.executable(environment: context.environment) == nil {
      findings.append(
        Finding(
          .note, "gnuplot isn't installed", "Figures are written as .gp and .dat but not drawn; scripts/bootstrap.sh installs it."
        ))
    }
    if ProjectHome.fixtures(explicit: values.string("fixtures"), environment: context.environment) == nil {
      findings.append(
        Finding(
          .note, "the Fixtures folder isn't found",
          "Small models and goldens are missing: give --fixtures DIR or set GENBENCH_HOME."))
    }
    let available = KernelFactory.availableInstructionSets.map(\.rawValue)
    if let forced = context.environment[KernelFactory.instructionSetVariable], !forced.isEmpty {
      let known = available.contains(forced)
      findings.append(
        Finding(
          known && forced == available.last ? .note : .bad,
          "\(KernelFactory.instructionSetVariable)=\(forced)\(known ? "" : ", which this CPU doesn't have") (available: \(available.joined(separator: ", ")))",
          "Unset it to use the best one."))
    } else {
      findings.append(
        Finding(.good, "kernels: \(available.last ?? "none") (available: \(available.joined(separator: ", ")))", ""))
    }
    let store = StoreOptions.store(values, context)
    if let machine = EnvironmentProbe().read().machineID {
      let known = (try? store.noise(of: machine)).flatMap { $0 }
      findings.append(
        known.map { Finding(.good, "this machine's noise is calibrated for \(Set($0.entries.map(\.caseID)).count) cases", "") }
          ?? Finding(
            .note, "this machine's noise isn't calibrated",
            "'genbench calibrate' measures it; with 5 sessions or more a run knows its own."))
    }
    return findings
  }

  // MARK: - Showing

  private func show(
    _ findings: [Finding], _ environment: EnvironmentRecord, _ conditions: Conditions, _ steadiness: Steadiness?,
    _ probe: EnvironmentRecord.Probe?, _ console: Console
  ) {
    let cpu = environment.cpu
    console.print(
      "\(cpu.model ?? "unknown processor"), \(cpu.logical.map(String.init) ?? "?") threads, \(cpu.arch); \(environment.os.name ?? "unknown system"), kernel \(environment.os.kernel ?? "unknown")"
    )
    console.print(
      "memory \(environment.memory.totalBytes.map { Units.bytes(Double($0)) } ?? "unknown"), available \(conditions.availableBytes.map { Units.bytes(Double($0)) } ?? "unknown")"
    )
    if let probe {
      console.print(
        "reaches \(Units.significant(probe.gigaflopsF32)) GFLOP/s in f32 and copies \(Units.significant(probe.memoryGigabytesPerSecond)) GB/s"
      )
    }
    if let steadiness {
      console.print(
        "a fixed piece of work takes \(Units.duration(ns: steadiness.medianNs)), 95 % of the time within \(RunComparison.percent(steadiness.spread, signed: false)) of that"
      )
    }
    console.print("")
    for finding in findings {
      console.print("[\(finding.level.mark)] \(finding.what)")
      if !finding.advice.isEmpty { console.print("       \(finding.advice)") }
    }
  }

  private func printJSON(
    _ findings: [Finding], _ environment: EnvironmentRecord, _ conditions: Conditions, _ steadiness: Steadiness?,
    _ probe: EnvironmentRecord.Probe?, _ context: CommandContext
  ) throws {
    struct Document: Encodable {
      var schema = "genbench.doctor/1"
      var findings: [Finding]
      var environment: EnvironmentRecord
      var conditions: Conditions
      var steadiness: Steadiness?
    }
    var environment = environment
    environment.probe = probe
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    let document = Document(findings: findings, environment: environment, conditions: conditions, steadiness: steadiness)
    context.console.print(String(decoding: try encoder.encode(document), as: UTF8.self))
  }
}
