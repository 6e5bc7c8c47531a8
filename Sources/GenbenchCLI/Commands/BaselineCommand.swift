import Foundation
import Measurement
import Reporting
import Running

/// Named baselines.
struct BaselineCommand: Command {
  static let configuration = CommandDescription(
    name: "baseline", abstract: "Keep runs by name, for later comparisons.",
    subcommands: [BaselineSaveCommand.self, BaselineListCommand.self, BaselineShowCommand.self, BaselineDeleteCommand.self],
    defaultSubcommand: "list")

  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("Missing expected subcommand") }

  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}

/// Saves a run as a baseline.
struct BaselineSaveCommand: Command {
  static let configuration = CommandDescription(
    name: "save", abstract: "Keep a run under a name; a baseline of that name is replaced.",
    arguments: [CommandArgument("name", "Letters, digits and -_.+@."), CommandArgument("run", "A run's folder or run.json.")],
    options: [
      .flag("force", "Keep it even when it's incomplete, wrong, or has a fault injected."), StoreOptions.option,
    ])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let (name, source) = (values.positionals[0], values.positionals[1])
    do { _ = try store.file(ofBaseline: name) } catch { throw UsageError(error.message) }
    let run = try StoreOptions.load(source, store: nil).run
    if !(values.flag("force") ?? false) {
      let bad = run.cases.first { $0.status != .pass }
      if !run.faults.isEmpty {
        throw CommandError(
          .nonconforming,
          "\(source) was measured with a fault injected (\(run.faults.joined(separator: ", "))); --force keeps it all the same")
      }
      if let bad {
        throw CommandError(
          bad.status == .invalid ? .nonconforming : .incomplete,
          "\(source): \(bad.displayName) is \(bad.status.rawValue): \(bad.statusReason ?? "no reason given"); --force keeps it all the same"
        )
      }
    }
    try store.save(run, as: name)
    context.console.say("\(name): \(run.cases.count) cases of \(run.createdAt)")
    return .success
  }
}

/// Lists baselines.
struct BaselineListCommand: Command {
  static let configuration = CommandDescription(
    name: "list", abstract: "List the baselines.", options: [.flag("json", "Print JSON."), StoreOptions.option])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  private struct Row: Encodable {
    var name: String
    var run_id: String
    var created_at: String
    var commit: String?
    var cases: Int
    var cpu: String?
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let rows = try store.baselineNames.map { name -> Row in
      let run = try StoreOptions.load(name, store: store).run
      return Row(
        name: name, run_id: run.runID, created_at: run.createdAt, commit: run.tool.commit, cases: run.cases.count,
        cpu: run.environment.cpu.model)
    }
    if values.flag("json") == true {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      context.console.print(String(decoding: try encoder.encode(rows), as: UTF8.self))
      return .success
    }
    guard !rows.isEmpty else {
      context.console.say("There are no baselines in \(store.folder.path)")
      return .success
    }
    var table = TextTable([("baseline", .left), ("measured", .left), ("commit", .left), ("cases", .right), ("machine", .left)])
    for row in rows {
      table.append([row.name, row.created_at, row.commit.map { String($0.prefix(10)) } ?? "-", String(row.cases), row.cpu ?? "-"])
    }
    context.console.print(table.markdown)
    return .success
  }
}

/// Shows a baseline.
struct BaselineShowCommand: Command {
  static let configuration = CommandDescription(
    name: "show", abstract: "Show the table of a baseline.", arguments: [CommandArgument("name", "The baseline.")],
    options: [.flag("json", "Print its run.json."), StoreOptions.option])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let run = try BaselineDeleteCommand.find(values, context).run
    context.console.print(values.flag("json") == true ? try run.json().trimmingSpaces() : RunTable.markdown(run).trimmingSpaces())
    return .success
  }
}

/// Deletes a baseline.
struct BaselineDeleteCommand: Command {
  static let configuration = CommandDescription(
    name: "delete", abstract: "Delete a baseline.", arguments: [CommandArgument("name", "The baseline.")],
    options: [StoreOptions.option])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  /// The baseline that the argument names, and nothing else of that name.
  static func find(_ values: ParsedValues, _ context: CommandContext) throws -> (name: String, run: RunDocument) {
    let store = StoreOptions.store(values, context)
    let name = values.positionals[0]
    do {
      guard let run = try store.baseline(name) else {
        let known = store.baselineNames
        throw CommandError(
          .baselineNotFound,
          "there's no baseline '\(name)' in \(store.folder.path)\(Suggestion.text(for: name, among: known))")
      }
      return (name, run)
    } catch let error as RunDocumentError {
      throw CommandError(.badInput, error.message)
    }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    do {
      guard try store.deleteBaseline(values.positionals[0]) else {
        throw CommandError(
          .baselineNotFound,
          "there's no baseline '\(values.positionals[0])' in \(store.folder.path)"
            + Suggestion.text(for: values.positionals[0], among: store.baselineNames))
      }
    } catch let error as RunDocumentError {
      throw CommandError(.badInput, error.message)
    }
    context.console.say("\(values.positionals[0]) is deleted")
    return .success
  }
}
