import Checkpoints
import Conformance
import ConformanceSelfTest
import Foundation
import GenBackend
import Goldens
import Running
import Tensors

/// Judges behaviour and numbers.
struct ConformCommand: Command {
  static let configuration = CommandDescription(
    name: "conform", abstract: "Judge how an engine behaves and whether its numbers are right.",
    discussion: """
      Runs the checks of the catalogue on the API surfaces, over scripted engines and over the one of --backend, and compares the \
      engine with the goldens. Exits with 0 when all that could be judged is right, 7 when something isn't, 3 when a check broke.
      """,
    options: [
      .value(
        "group", "list", "Groups: \(groupNames.joined(separator: ", ")).", default: "all", isRepeatable: true, section: "WHAT"),
      .value("filter", "regex", "Only checks whose id matches.", section: "WHAT"),
      .value("over", "list", "What the surfaces stand on: script, engine.", default: "both", isRepeatable: true, section: "WHAT"),
      .flag("self-test", "Run the checks on faulty implementations: each must be found out.", section: "WHAT"),
      .value(
        "race", "seed", "Run one race of the checks that run thousands, by the seed that a failure has told.", section: "WHAT"),
      .flag("list", "Print the checks without running them.", section: "WHAT"),
      .value("expected", "file", "Known failures as JSON, each with a reason and a day of expiry.", section: "WHAT"),
      .value("fixtures", "dir", "The folder with the goldens and small models.", default: "found by itself", section: "WHAT"),
      .flag("json", "Print the report as JSON.", section: "REPORT"),
      .value("junit", "file", "Write JUnit XML.", section: "REPORT"),
      .value("markdown", "file", "Write or, for GITHUB_STEP_SUMMARY, append Markdown.", section: "REPORT"),
      .value("html", "file", "Write the matrix of implementations and checks as a page.", section: "REPORT"),
    ] + BackendSpecification.options)

  private static let groupNames = Check.Group.allCases.map(\.rawValue)

  private let groups: Set<Check.Group>
  private let filter: String?
  private let environments: Set<EnvironmentKind>
  private let isSelfTest: Bool
  private let isList: Bool
  private let race: UInt64?
  private let expected: String?
  private let fixtures: String?
  private let isJSON: Bool
  private let outputs: [Output: String]
  private let backend: BackendSpecification

  private enum Output: String, CaseIterable {
    case junit, markdown, html
  }

  init(_ values: ParsedValues) throws(UsageError) {
    var groups: Set<Check.Group> = []
    for name in values.list("group") {
      guard let group = Check.Group(rawValue: name) else {
        throw UsageError(
          "The value '\(name)' is invalid for '--group <list>': expected some of \(Self.groupNames.joined(separator: ", "))")
      }
      groups.insert(group)
    }
    self.groups = groups.isEmpty ? Set(Check.Group.allCases) : groups
    filter = values.string("filter")
    if let filter {
      do { _ = try Regex(filter) } catch {
        throw UsageError("The value '\(filter)' is invalid for '--filter <regex>': not a regular expression")
      }
    }
    var environments: Set<EnvironmentKind> = []
    for name in values.list("over") {
      guard let environment = ["script": EnvironmentKind.scripted, "engine": .engine][name] else {
        throw UsageError("The value '\(name)' is invalid for '--over <list>': expected script or engine")
      }
      environments.insert(environment)
    }
    self.environments = environments.isEmpty ? Set(EnvironmentKind.allCases) : environments
    isSelfTest = values.flag("self-test") ?? false
    isList = values.flag("list") ?? false
    if let seed = values.string("race") {
      guard let seed = UInt64(seed) else {
        throw UsageError("The value '\(seed)' is invalid for '--race <seed>': expected a whole number from 0 on")
      }
      race = seed
    } else {
      race = nil
    }
    if isSelfTest, isList { throw UsageError("--self-test and --list can't be given together") }
    expected = values.string("expected")
    fixtures = values.string("fixtures")
    isJSON = values.flag("json") ?? false
    var outputs: [Output: String] = [:]
    for output in Output.allCases { outputs[output] = values.string(output.rawValue) }
    self.outputs = outputs
    if isSelfTest, outputs[.junit] != nil || outputs[.markdown] != nil {
      throw UsageError("--self-test writes --html alone; leave --junit and --markdown out")
    }
    backend = try BackendSpecification(values)
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    for path in outputs.values where !isSummary(path, context) { try OutputFile(path).check() }
    let needsFixtures = groups.contains(.numerics) || environments.contains(.engine)
    let folder =
      needsFixtures && !isSelfTest
      ? try ModelLocation.fixtures(explicit: fixtures, environment: context.environment) : nil
    let checks = try chosenChecks(fixtures: folder)
    if isSelfTest { return try await selfTest(context) }
    if isList { return list(checks, context) }

    let known = try expectedFailures(checks)
    var subjects: [AnySubject] = []
    if environments.contains(.scripted) { subjects += ConformSubjects.allScripted }
    if environments.contains(.engine), let folder {
      subjects += try ConformSubjects(backend: backend, fixtures: folder, makeBackend: context.makeBackend).allOverEngine()
    }
    subjects = subjects.filter { subject in checks.contains { $0.surface == subject.surface } }
    let report = try await judge(checks, subjects, known, context)
    try write(report, context)
    context.console.print(isJSON ? report.json.text() : report.text())
    if context.cancellation.isCancelled { return ProgramExit(.interrupted, "stopped; \(report.headline)") }
    return Self.status(of: report)
  }

  // MARK: - Choosing

  private func chosenChecks(fixtures: URL?) throws -> [Check] {
    var checks = Catalogue.all
    if groups.contains(.numerics), let fixtures {
      checks += NumericsChecks.checks(
        of: try NumericsChecks.areas.flatMap { try ProjectHome.cases(in: $0, fixtures: fixtures) })
    }
    checks = checks.filter { groups.contains($0.group) }
    if let filter {
      let expression = try Regex(filter)
      checks = checks.filter { $0.id.contains(expression) }
      guard !checks.isEmpty else { throw UsageError("--filter \(filter) matches no check of the chosen groups") }
    }
    return checks
  }

  private func list(_ checks: [Check], _ context: CommandContext) -> ProgramExit {
    if isJSON {
      context.console.print(
        JSONValue.array(
          checks.map { check in
            .object([
              "id": .string(check.id), "statement": .string(check.statement), "level": .string(check.level.rawValue),
              "group": .string(check.group.rawValue),
              "worlds": .array(check.environments.map(\.rawValue).sorted().map { .string($0) }),
            ])
          }
        ).text())
      return .success
    }
    let width = checks.map(\.id.count).max() ?? 0
    for check in checks {
      let space = String(repeating: " ", count: width - check.id.count)
      context.console.print("\(check.id)\(space)  \(check.level.rawValue)  \(check.statement)")
    }
    return .success
  }

  private func expectedFailures(_ checks: [Check]) throws -> ExpectedFailures {
    guard let expected else { return ExpectedFailures() }
    guard let data = FileManager.default.contents(atPath: expected) else {
      throw CommandError(.inputMissing, "\(expected): no such file, or it can't be read")
    }
    do {
      return try ExpectedFailures(
        data: data, name: expected, today: ExpectedFailures.today(), knownChecks: Set((Catalogue.all + checks).map(\.id)))
    } catch {
      throw CommandError(.badInput, error.description)
    }
  }

  // MARK: - Judging

  private func judge(_ checks: [Check], _ subjects: [AnySubject], _ known: ExpectedFailures, _ context: CommandContext)
    async throws
    -> ConformanceReport
  {
    let total = subjects.reduce(0) { sum, subject in sum + checks.count { $0.surface == subject.surface } }
    let display = ProgressDisplay("conform", total: total, console: context.console)
    let done = Tally()
    let results = await Runner(expected: known, raceSeed: race).run(
      checks, on: subjects, isStopped: { context.cancellation.isCancelled },
      onResult: { display.update(done: done.next(), detail: $0.id) })
    display.finish()
    let info = environments.contains(.engine) ? try await context.makeBackend(backend).info : nil
    var facts = ["genbench": GenbenchCommandLine.version, "RunAnywhere": ConformSubjects.version]
    if let info {
      facts[info.name] = ([info.version] + info.details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(
        separator: " ")
    }
    return ConformanceReport(
      checks: checks, subjects: subjects.map(\.title), results: results, date: ExpectedFailures.today(),
      command: Self.command(context.words), facts: facts)
  }

  /// The words that ran it, without those that choose checks or reports.
  private static func command(_ words: [String]) -> String {
    var kept = ["genbench"]
    var index = 0
    let dropped: Set = ["--filter", "--group", "--json", "--junit", "--markdown", "--html", "--expected", "--race"]
    while index < words.count {
      let name = words[index].split(separator: "=", maxSplits: 1).first.map(String.init) ?? words[index]
      if dropped.contains(name) {
        if name != "--json", !words[index].contains("=") { index += 1 }
      } else {
        kept.append(words[index].contains(" ") ? "'\(words[index])'" : words[index])
      }
      index += 1
    }
    return kept.joined(separator: " ")
  }

  private static func status(of report: ConformanceReport) -> ProgramExit {
    if let first = report.failures.first {
      return ProgramExit(.nonconforming, "\(report.headline); first \(first.id) on \(first.subject): \(first.verdict.detail)")
    }
    if let first = report.errors.first {
      return ProgramExit(.caseFailed, "\(report.headline); first \(first.id) on \(first.subject): \(first.verdict.detail)")
    }
    return .success
  }

  private func selfTest(_ context: CommandContext) async throws -> ProgramExit {
    let expression = try filter.map { try Regex($0) }
    let checks = SelfTest.checks.filter { check in
      groups.contains(check.group) && (expression.map { check.id.contains($0) } ?? true)
    }
    guard !checks.isEmpty else { throw UsageError("no check that runs over a script is chosen") }
    let ids = Set(checks.map(\.id))
    // A part of the checks is tried on the mutants that claim to break them.
    let mutants = checks.count == SelfTest.checks.count ? Mutant.all : Mutant.all.filter { !ids.isDisjoint(with: $0.breaks) }
    let display = ProgressDisplay("self-test", total: mutants.count, console: context.console)
    let done = Tally()
    let matrix = await SelfTest(subjects: ConformSubjects.allScripted).run(mutants: mutants, checks: checks) { mutant in
      display.update(done: done.next(), detail: mutant.id)
    }
    display.finish()
    if let path = outputs[.html] { try OutputFile(path).write(matrix.html) }
    if isJSON {
      context.console.print(
        JSONValue.object([
          "checks": .integer(matrix.checks.count), "proven": .integer(matrix.provenChecks),
          "faults": .array(matrix.faults.map { .string($0) }),
          "cells": .object(matrix.cells.mapValues { .object($0.mapValues { .string($0.rawValue) }) }),
        ]).text())
    } else {
      context.console.print(matrix.text)
    }
    guard let fault = matrix.faults.first else { return .success }
    return ProgramExit(.nonconforming, "\(matrix.faults.count) faults of the suite itself; first: \(fault)")
  }

  // MARK: - Writing

  private func isSummary(_ path: String, _ context: CommandContext) -> Bool {
    context.environment["GITHUB_STEP_SUMMARY"] == path
  }

  private func write(_ report: ConformanceReport, _ context: CommandContext) throws {
    for (output, path) in outputs {
      switch output {
      case .junit: try OutputFile(path).write(report.junit)
      case .html: try OutputFile(path).write(report.html)
      case .markdown:
        // The summary of a job is a file that several steps add to.
        let before = isSummary(path, context) ? (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" : ""
        try OutputFile(path).write(before + report.markdown)
      }
    }
  }
}
