import Foundation
import Markup
import Reporting
import Running

/// Where the history is.
enum HistoryOptions {
  static func store(_ store: ResultStore) -> HistoryStore {
    HistoryStore(file: store.folder.appendingPathComponent("history.sqlite"))
  }

  /// What SQLite refused as an exit code.
  static func error(_ error: SQLiteError, _ store: HistoryStore) -> CommandError {
    if error.isCorruption {
      return CommandError(.badInput, error.message + "; the next import sets the damaged file aside and begins a new one")
    }
    return CommandError(store.exists ? .badInput : .inputMissing, error.message)
  }
}

/// Runs over time.
struct HistoryCommand: Command {
  static let configuration = CommandDescription(
    name: "history", abstract: "Keep runs over time in SQLite, and see where levels changed.",
    subcommands: [HistoryImportCommand.self, HistoryListCommand.self, HistoryTrendCommand.self, HistoryQueryCommand.self],
    defaultSubcommand: "list")

  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("Missing expected subcommand") }

  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}

/// Adds runs to the history.
struct HistoryImportCommand: Command {
  static let configuration = CommandDescription(
    name: "import", abstract: "Add runs; those that are there already are left as they are.",
    arguments: [CommandArgument("run", "Runs' folders or run.json files.", isRepeatable: true)],
    options: [.flag("force", "Take runs with a fault injected, too."), StoreOptions.option])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let runs = try values.positionals.map { name -> RunDocument in
      let run = try StoreOptions.load(name, store: nil).run
      if !run.faults.isEmpty, !(values.flag("force") ?? false) {
        throw CommandError(
          .nonconforming,
          "\(name) was measured with a fault injected (\(run.faults.joined(separator: ", "))); --force takes it all the same")
      }
      return run
    }
    try OutputFile.makeFolder(store.folder.path)
    let history = HistoryOptions.store(store)
    do {
      let result = try history.add(runs)
      if let aside = result.setAside {
        context.console.warn("the history was damaged (\(aside.reason)); it's kept as \(aside.path), and a new one is begun")
      }
      for (run, outcome) in zip(runs, result.outcomes) {
        context.console.print("\(run.runID) \(outcome == .added ? "added" : "was there already")")
      }
    } catch {
      throw CommandError(.cannotWrite, error.message)
    }
    return .success
  }
}

/// Lists the runs of the history.
struct HistoryListCommand: Command {
  static let configuration = CommandDescription(
    name: "list", abstract: "List the runs, newest first.",
    options: [.value("limit", "n", "At most so many.", default: "1000"), .flag("json", "Print JSON."), StoreOptions.option])

  private let values: ParsedValues
  private let limit: Int

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    limit = try values.int("limit", in: 1...1_000_000) ?? 1000
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let history = HistoryOptions.store(StoreOptions.store(values, context))
    let entries: [HistoryStore.Entry]
    do { entries = try history.list(limit: limit) } catch { throw HistoryOptions.error(error, history) }
    if values.flag("json") == true {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      context.console.print(String(decoding: try encoder.encode(entries), as: UTF8.self))
      return .success
    }
    var table = TextTable([
      ("run", .left), ("began", .left), ("commit", .left), ("machine", .left), ("cases", .right), ("not passed", .right),
      ("exit", .right),
    ])
    for entry in entries {
      table.append([
        entry.runID, entry.createdAt, entry.commit.map { String($0.prefix(10)) } ?? "-", entry.machine ?? "-",
        String(entry.cases),
        String(entry.notPassed), String(entry.exitCode),
      ])
    }
    context.console.print(table.markdown)
    return .success
  }
}

/// Shows how a quantity went over time.
struct HistoryTrendCommand: Command {
  static let configuration = CommandDescription(
    name: "trend", abstract: "Show a quantity over time, and where its level changed.",
    discussion: "Machines and builds have series of their own. 'genbench plot trend' draws it.",
    options: [
      .value("metric", "name", "The quantity.", default: "e2e_ns"), .value("case", "regex", "Only cases whose id matches."),
      .value("threshold", "percent", "The least change of level that is told.", default: "3%"),
      .flag("gate", "Exit with 2 when the last level of a case is worse than the one before it."),
      .flag("json", "Print JSON."), StoreOptions.option,
    ])

  private let values: ParsedValues
  private let filter: CaseFilter
  private let threshold: Double

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    filter = try CaseFilter(values.string("case"))
    if let text = values.string("threshold") {
      guard text.hasSuffix("%"), let percent = Double(text.dropLast()), percent >= 0, percent <= 1000 else {
        throw UsageError("The value '\(text)' is invalid for '--threshold <percent>': expected a share such as 3%")
      }
      threshold = percent / 100
    } else {
      threshold = 0.03
    }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let history = HistoryOptions.store(StoreOptions.store(values, context))
    var trends: [HistoryTrend]
    let metric = values.string("metric").map { MetricName(rawValue: $0) } ?? .endToEnd
    do { trends = try history.trend(metric, where: filter.matches) } catch {
      throw HistoryOptions.error(error, history)
    }
    for index in trends.indices { trends[index].findChanges(threshold: threshold) }
    if values.flag("json") == true {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      context.console.print(String(decoding: try encoder.encode(trends), as: UTF8.self))
    } else {
      var table = TextTable([
        ("case", .left), ("machine", .left), ("runs", .right), ("first", .right), ("last", .right), ("changes of level", .left),
      ])
      for trend in trends {
        let changes = trend.changes.map { change in
          let commit = change.commit.map { " " + $0.prefix(10) } ?? ""
          return
            "\(RunComparison.percent(change.change))\(change.isWorse ? " worse" : " better") at run \(change.index + 1)\(commit)"
        }
        table.append([
          trend.caseID, trend.machine, String(trend.points.count),
          trend.unit.text(trend.points.first?.median),
          trend.unit.text(trend.points.last?.median),
          changes.isEmpty ? "none" : changes.joined(separator: ", "),
        ])
      }
      context.console.print(trends.isEmpty ? "The history has no such quantity." : table.markdown)
    }
    let worse = trends.filter { $0.changes.last?.isWorse == true }
    if values.flag("gate") == true, let first = worse.first {
      return ProgramExit(.regression, "\(worse.count) series ended on a worse level: \(first.caseID)")
    }
    return .success
  }
}

/// Asks the history a question in SQL.
struct HistoryQueryCommand: Command {
  static let configuration = CommandDescription(
    name: "query", abstract: "Ask in SQL; nothing can be changed by it.",
    discussion: "Tables: run, result, metric, session_value; views: trend, latest.",
    arguments: [CommandArgument("sql", "One SELECT.")],
    options: [.flag("json", "Print JSON."), .flag("csv", "Print CSV."), StoreOptions.option])

  private let values: ParsedValues

  init(_ values: ParsedValues) throws(UsageError) { self.values = values }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let history = HistoryOptions.store(StoreOptions.store(values, context))
    let (columns, rows): ([String], [[SQLiteValue]])
    do { (columns, rows) = try history.query(values.positionals[0]) } catch {
      guard history.exists, !error.isCorruption else { throw HistoryOptions.error(error, history) }
      throw CommandError(.usage, error.message)
    }
    if values.flag("json") == true {
      let objects = rows.map { row -> [String: QueryCell] in
        Dictionary(zip(columns, row.map(QueryCell.init)), uniquingKeysWith: { first, _ in first })
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      context.console.print(String(decoding: try encoder.encode(objects), as: UTF8.self))
    } else if values.flag("csv") == true {
      context.console.printRaw(CSV.table([columns] + rows.map { $0.map { $0.string ?? "" } }))
    } else {
      var table = TextTable(columns.map { ($0, .left) })
      for row in rows { table.append(row.map { $0.string ?? "NULL" }) }
      context.console.print(table.markdown)
    }
    return .success
  }

  /// A value of SQLite as one of JSON.
  private struct QueryCell: Encodable {
    let value: SQLiteValue
    init(_ value: SQLiteValue) { self.value = value }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch value {
      case .null: try container.encodeNil()
      case .integer(let number): try container.encode(number)
      case .real(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      }
    }
  }
}
