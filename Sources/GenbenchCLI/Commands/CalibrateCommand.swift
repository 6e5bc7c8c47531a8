import Foundation
import Measurement
import Reporting
import Running

/// Finds out how much this machine's numbers differ when nothing does.
struct CalibrateCommand: Command {
  static let configuration = CommandDescription(
    name: "calibrate", abstract: "Measure one thing against itself, and keep this machine's noise floor.",
    discussion: """
      Takes the options of 'run'. Two identical sides are measured in turns; how much their sessions differ is kept for each case \
      and quantity, and comparisons on this machine demand twice as much of a change.
      """,
    options: RunCommand.configuration.options.filter {
      !["side", "emit", "shards", "shard", "merge", "merge-anyway", "dry-run"].contains($0.name)
    }
      + hidden + [StoreOptions.option])

  /// Options that the inner run looks for; here they have no meaning, and aren't to be given.
  private static let hidden = RunCommand.configuration.options.filter {
    ["side", "emit", "shards", "shard", "merge", "merge-anyway", "dry-run"].contains($0.name)
  }.map { option in
    var option = option
    option.isHidden = true
    return option
  }

  private let inner: RunCommand
  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    for option in Self.hidden where !values.strings(option.name).isEmpty || values.isSet(option.name) {
      throw UsageError("--\(option.name) doesn't belong to calibrate: two identical sides are measured on this machine")
    }
    inner = try RunCommand(
      values,
      sides: ["a:env.GENBENCH_SIDE=a", "b:env.GENBENCH_SIDE=b"],
      defaults: ["sessions": "5", "prompts": "2"])
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let (run, status, folder) = try await inner.measure(context)
    guard let machine = run.environment.machineID else {
      throw CommandError(.internalError, "this machine can't be told from others, so that its noise can't be kept")
    }
    guard run.faults.isEmpty else {
      throw CommandError(.usage, "a fault is injected (\(run.faults.joined(separator: ", "))): its noise isn't the machine's")
    }
    var ledger: NoiseLedger
    do {
      ledger = try store.noise(of: machine) ?? NoiseLedger(machineID: machine, cpu: run.environment.cpu.model ?? "unknown")
    } catch { throw CommandError(.badInput, error.message) }
    ledger.learn(run.side("a"), run.side("b"))
    let file = try store.save(ledger)
    let cases = Set(run.cases.map(\.caseID))
    let entries = ledger.entries.filter { cases.contains($0.caseID) && $0.metric.isJudged }
    if values.flag("json") == true {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      context.console.print(String(decoding: try encoder.encode(ledger), as: UTF8.self))
    } else {
      var table = TextTable([
        ("case", .left), ("quantity", .left), ("spread between sessions", .right), ("a against b", .right),
        ("smallest change found", .right),
      ])
      for entry in entries {
        table.append([
          entry.caseID, entry.metric.rawValue, RunComparison.percent(entry.spread, signed: false),
          RunComparison.percent(entry.difference),
          entry.detectable.map { RunComparison.percent($0, signed: false) } ?? "-",
        ])
      }
      context.console.print(table.markdown)
      for warning in run.warnings { context.console.print("\nNote: \(warning)") }
    }
    context.console.say("The noise floor is in \(file.path), the run in \(folder.path)")
    return status
  }
}
