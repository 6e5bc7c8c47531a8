import Checkpoints
import Foundation
import Measurement
import Reporting
import Running

/// Compares two runs.
struct CompareCommand: Command {
  static let configuration = CommandDescription(
    name: "compare", abstract: "Compare two runs, or a run with a baseline: a verdict for each quantity.",
    discussion: """
      A run is its folder, its run.json or a baseline's name; RUN#SIDE is one side of a run with several. With one run that has two \
      sides, these are compared. A change counts when it is beyond the threshold and twice the spread between sessions, and an exact \
      test over all comparisons says that chance doesn't explain it.
      """,
    arguments: [
      CommandArgument("base", "What is compared with."),
      CommandArgument("candidate", "What is judged.", isOptional: true),
    ],
    options: [
      .flag("gate", "Let the exit code tell: 2 regressed, 3 failed, 7 wrong results, 9 cases missing."),
      .value("fail-on", "list", "With --gate, also: inconclusive (exit 8), improved (exit 2).", isRepeatable: true),
      .flag("confirm", "Measure suspicious cases of the candidate once more before they count."),
      .value("threshold", "percent", "The least change that matters.", default: "5%"),
      .flag("ignore-environment", "Compare runs of different machines or builds all the same."),
      .flag("all", "Show unchanged quantities and those without a verdict, too."),
      .value("markdown", "file", "Also write, or for GITHUB_STEP_SUMMARY append, the Markdown."),
      .value("junit", "file", "Also write JUnit XML."),
      .flag("json", "Print JSON."), StoreOptions.option,
    ])

  private let base: String
  private let candidate: String?
  private let isGate: Bool
  private let failsOn: Set<Verdict>
  private let confirms: Bool
  private let policy: ComparisonPolicy
  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    base = values.positionals.first ?? ""
    candidate = values.positionals.count > 1 ? values.positionals[1] : nil
    isGate = values.flag("gate") ?? false
    confirms = values.flag("confirm") ?? false
    var failsOn: Set<Verdict> = []
    for name in values.list("fail-on") {
      guard let verdict = Verdict(rawValue: name), [.inconclusive, .improved].contains(verdict) else {
        throw UsageError("The value '\(name)' is invalid for '--fail-on <list>': expected inconclusive or improved")
      }
      failsOn.insert(verdict)
    }
    self.failsOn = failsOn
    var policy = ComparisonPolicy(ignoresEnvironment: values.flag("ignore-environment") ?? false)
    if let text = values.string("threshold") {
      guard text.hasSuffix("%"), let percent = Double(text.dropLast()), percent >= 0, percent <= 1000 else {
        throw UsageError("The value '\(text)' is invalid for '--threshold <percent>': expected a share such as 5%")
      }
      policy.threshold = percent / 100
    }
    self.policy = policy
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let markdown = values.string("markdown")
    let junit = values.string("junit")
    for path in [markdown, junit].compactMap({ $0 }) where path != context.environment["GITHUB_STEP_SUMMARY"] {
      try OutputFile(path).check()
    }
    let store = StoreOptions.store(values, context)
    let (old, new) = try sides(store)
    let ledger = try ledger(store, new.run)
    var comparison = RunComparison(base: (old.run, old.name), candidate: (new.run, new.name), policy: policy, ledger: ledger)
    if confirms, !comparison.rows(.regressed).isEmpty {
      comparison = try await confirm(comparison, old, new, ledger, context)
    }
    if let junit { try OutputFile(junit).write(JUnitReport.xml(comparison, candidate: new.run)) }
    if let markdown { try MarkdownFile.write(ComparisonTable.markdown(comparison), to: markdown, context) }
    context.console.print(
      values.flag("json") == true
        ? try comparison.json().trimmingSpaces()
        : ComparisonTable.markdown(comparison, showsAll: values.flag("all") ?? false).trimmingSpaces())
    return isGate ? status(of: comparison) : .success
  }

  private func sides(_ store: ResultStore) throws -> (RunReference, RunReference) {
    let first = try StoreOptions.load(base, store: store)
    if let candidate { return (first, try StoreOptions.load(candidate, store: store)) }
    let names = first.run.sides
    guard names.count == 2 else {
      throw UsageError(
        "Missing expected argument '<candidate>': \(base) has \(names.count) sides, so that it can't be compared with itself")
    }
    return (
      RunReference(run: first.run.side(names[0]), folder: first.folder, name: "\(base)#\(names[0])"),
      RunReference(run: first.run.side(names[1]), folder: first.folder, name: "\(base)#\(names[1])")
    )
  }

  private func ledger(_ store: ResultStore, _ run: RunDocument) throws -> NoiseLedger? {
    guard let machine = run.environment.machineID else { return nil }
    do { return try store.noise(of: machine) } catch { throw CommandError(.badInput, error.message) }
  }

  // MARK: - Confirming

  /// Measures the suspicious cases of the candidate again, by its own plan on this machine.
  private func confirm(
    _ comparison: RunComparison, _ old: RunReference, _ new: RunReference, _ ledger: NoiseLedger?, _ context: CommandContext
  ) async throws -> RunComparison {
    guard let folder = new.folder,
      let data = FileManager.default.contents(atPath: folder.appendingPathComponent("plan.json").path)
    else { throw CommandError(.inputMissing, "--confirm: \(new.name) has no plan.json, so that it can't be measured again") }
    var plan: RunPlan
    do { plan = try RunPlan(json: data) } catch { throw CommandError(.badInput, "\(folder.path)/plan.json: \(error.message)") }
    let here = EnvironmentProbe().read().machineID
    guard here == new.run.environment.machineID else {
      throw CommandError(.usage, "--confirm: \(new.name) was measured on another machine; confirm it there")
    }
    let suspects = Set(comparison.cases(.regressed))
    let keys = Set(new.run.cases.filter { suspects.contains($0.caseID) }.map(\.key))
    plan.keepsImages = false
    let target = folder.appendingPathComponent("confirm-\(RunFinisher.folderName(Date()))")
    try OutputFile.makeFolder(target.path)
    context.console.say("Measuring \(keys.count) suspicious case\(keys.count == 1 ? "" : "s") once more")
    var execution = RunExecution(plan: plan, folder: target, host: context)
    execution.keys = keys
    execution.drawsFigures = false
    let again = try await execution.run(date: Date())
    if [ExitCode.interrupted, .terminated].map(\.rawValue).contains(again.exit.code) {
      throw CommandError(.incomplete, "the confirmation was stopped")
    }
    // With both sides in one plan, both are measured again; otherwise the base's stored sessions are what there is.
    func side(_ reference: RunReference) -> RunDocument? {
      guard let mark = reference.name.lastIndex(of: "#"), !again.sides.isEmpty else { return nil }
      return again.side(String(reference.name[reference.name.index(after: mark)...]))
    }
    let second = RunComparison(
      base: (side(old) ?? old.run, old.name), candidate: (side(new) ?? again, new.name), policy: policy, ledger: ledger)
    return comparison.confirmed(by: second)
  }

  // MARK: - Ending

  private func status(of comparison: RunComparison) -> ProgramExit {
    func named(_ verdict: Verdict) -> String {
      let rows = comparison.rows(verdict)
      let shown = rows.prefix(8).map { row in
        row.metric.map { "\(row.caseID) \($0) \(row.change.map { RunComparison.percent($0) } ?? "")" } ?? row.caseID
      }
      return shown.joined(separator: ", ") + (rows.count > 8 ? " and \(rows.count - 8) more" : "")
    }
    let order: [(Verdict, ProgramExit.Kind, String)] = [
      (.failed, .caseFailed, "failed"), (.invalid, .nonconforming, "give wrong results"), (.regressed, .regression, "regressed"),
      (.missing, .incomplete, "are missing"),
    ]
    for (verdict, kind, word) in order where !comparison.rows(verdict).isEmpty {
      return ProgramExit(kind, "\(comparison.rows(verdict).count) \(word): \(named(verdict))")
    }
    if failsOn.contains(.improved), !comparison.rows(.improved).isEmpty {
      return ProgramExit(.regression, "improvements count as well: \(named(.improved))")
    }
    let unsure = comparison.rows(.inconclusive) + comparison.rows(.notComparable)
    if failsOn.contains(.inconclusive), let first = unsure.first {
      return ProgramExit(
        .inconclusive, "\(unsure.count) inconclusive: \(first.caseID) \(first.metric?.rawValue ?? ""): \(first.clause)")
    }
    return .success
  }
}

/// Markdown into a file; GitHub's summary of a step is appended to.
enum MarkdownFile {
  static func write(_ text: String, to path: String, _ context: CommandContext) throws {
    guard path == context.environment["GITHUB_STEP_SUMMARY"], let file = FileHandle(forWritingAtPath: path) else {
      try OutputFile(path).write(text)
      return
    }
    defer { try? file.close() }
    do {
      try file.seekToEnd()
      try file.write(contentsOf: Data((text + "\n").utf8))
    } catch {
      throw CommandError(.cannotWrite, "\(path): can't be written: \(error.localizedDescription)")
    }
  }
}
