import Checkpoints
import Foundation
import Reporting
import Running

/// Draws figures.
struct PlotCommand: Command {
  static let configuration = CommandDescription(
    name: "plot", abstract: "Draw a figure of one or more runs with gnuplot.",
    discussion: """
      Writes KIND.png and KIND.svg, and the KIND.gp and KIND.dat that draw them again without this program.

        steps      the time of each denoising step
        memory     memory over time, by case
        latency    a request against a setting that was swept
        scaling    the speed-up with threads
        compare    two runs side by side
        trend      a quantity over the runs of the history
        roofline   what stages reach against the machine's limits
        sustained  minute by minute
      """,
    arguments: [
      CommandArgument("kind", PlotKind.allCases.map(\.rawValue).joined(separator: ", ") + "."),
      CommandArgument("run", "Runs; none for trend.", isOptional: true, isRepeatable: true),
    ],
    options: [
      .value("out", short: "o", "dir", "The folder for the files.", default: "the run's plots folder"),
      .value(
        "x", "setting", "latency: the setting along x.", default: "the one that varies most",
        values: SweepFigures.Axis.allCases.map(\.rawValue)),
      .value("metric", "name", "compare, trend: the quantity.", default: "e2e_ns"),
      .value("case", "regex", "Only cases whose id matches."),
      .value("terminal", "kind", "dumb draws with characters, on stdout.", values: ["dumb"]), StoreOptions.option,
    ])

  private let values: ParsedValues
  private let kind: PlotKind
  private let filter: CaseFilter

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    let word = values.positionals[0]
    let known = PlotKind.allCases.map(\.rawValue)
    guard let kind = PlotKind(rawValue: word) else {
      throw UsageError(
        "Unknown kind '\(word)'\(Suggestion.text(for: word, among: known)) (kinds: \(known.joined(separator: ", ")))")
    }
    self.kind = kind
    filter = try CaseFilter(values.string("case"))
    let count = values.positionals.count - 1
    if kind == .trend, count > 0 { throw UsageError("trend draws the history: import the runs with 'genbench history import'") }
    if kind == .compare, count != 1, count != 2 { throw UsageError("compare takes two runs, or one with two sides") }
    if kind != .trend, count == 0 { throw UsageError("Missing expected argument '<run>'") }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let references = try values.positionals.dropFirst().map { name -> RunReference in
      var reference = try StoreOptions.load(name, store: store)
      reference.run.cases = reference.run.cases.filter { filter.matches($0.caseID) }
      return reference
    }
    guard let figure = try figure(references, store) else { return nothing(references) }
    if values.string("terminal") == "dumb" {
      guard
        let drawing = Gnuplot.dumb(
          figure, columns: max(60, min(context.console.style.columns, 160)), rows: 30, environment: context.environment)
      else { throw CommandError(.backendUnavailable, "gnuplot isn't installed, or refuses; scripts/bootstrap.sh installs it") }
      context.console.printRaw(drawing)
      return .success
    }
    let folder =
      values.string("out").map { URL(fileURLWithPath: $0) }
      ?? references.first?.folder?.appendingPathComponent("plots") ?? store.folder.appendingPathComponent("plots")
    let outcome = try Gnuplot.draw(figure, in: folder, environment: context.environment)
    switch outcome {
    case .drawn, .missing: break
    case .cut(let reason): throw CommandError(.cannotWrite, "\(folder.path): \(reason)")
    case .failed(let reason): throw CommandError(.backendUnavailable, "gnuplot couldn't draw \(figure.name): \(reason)")
    }
    if let complaint = outcome.complaint(about: figure.name) { context.console.warn(complaint) }
    for ending in (outcome == .drawn ? ["png", "svg"] : []) + ["gp", "dat"] {
      context.console.print("\(folder.path)/\(figure.name).\(ending)")
    }
    return .success
  }

  private func nothing(_ references: [RunReference]) -> ProgramExit {
    let what =
      switch kind {
      case .steps: "no denoising steps were measured"
      case .memory: "no memory was measured"
      case .latency: "no setting varies: sweep one, as in --steps 4,8,16"
      case .scaling: "threads don't vary: run with --threads 1,2"
      case .trend: "the history has no such quantity"
      case .roofline: "no operations were counted, or the machine wasn't probed: it needs a run of image models by processes"
      case .compare: "the runs have no case in common"
      case .sustained: "no case was measured with --scenario sustained"
      }
    return ProgramExit(.badInput, "nothing to draw for \(kind.rawValue): \(what)")
  }

  private func figure(_ references: [RunReference], _ store: ResultStore) throws -> Gnuplot.Figure? {
    let runs = references.map(\.run)
    let metric = values.string("metric").map { MetricName(rawValue: $0) } ?? .endToEnd
    switch kind {
    case .steps: return RunFigures.stepTimes(Self.joined(runs))
    case .memory: return RunFigures.memory(Self.joined(runs))
    case .latency:
      guard let axis = values.string("x").flatMap({ SweepFigures.Axis(rawValue: $0) }) ?? SweepFigures.bestAxis(runs) else {
        return nil
      }
      return SweepFigures.latency(runs, axis: axis)
    case .scaling: return SweepFigures.scaling(runs)
    case .sustained: return SweepFigures.sustained(runs)
    case .roofline: return runs.first.flatMap { ComparisonFigures.roofline($0) }
    case .compare:
      if runs.count == 2 {
        return ComparisonFigures.compare(runs[0], runs[1], names: (references[0].name, references[1].name), metric: metric)
      }
      let sides = runs[0].sides
      guard sides.count == 2 else { throw UsageError("\(references[0].name) has \(sides.count) sides; give a second run") }
      return ComparisonFigures.compare(
        runs[0].side(sides[0]), runs[0].side(sides[1]), names: (sides[0], sides[1]), metric: metric)
    case .trend:
      do {
        return ComparisonFigures.trend(
          try HistoryOptions.store(store).trend(metric, where: filter.matches))
      } catch {
        throw CommandError(error.isCorruption ? .badInput : .inputMissing, error.message)
      }
    }
  }

  /// The cases of several runs as one, so that their curves share a figure.
  private static func joined(_ runs: [RunDocument]) -> RunDocument {
    var first = runs[0]
    first.cases = runs.flatMap(\.cases)
    return first
  }
}

/// `--case REGEX`.
struct CaseFilter: Sendable {
  private let pattern: String?

  init(_ pattern: String?) throws(UsageError) {
    self.pattern = pattern
    guard let pattern else { return }
    do { _ = try Regex(pattern) } catch {
      throw UsageError("The value '\(pattern)' is invalid for '--case <regex>': not a regular expression")
    }
  }

  func matches(_ caseID: String) -> Bool {
    guard let pattern, let expression = try? Regex(pattern) else { return true }
    return caseID.contains(expression)
  }
}
