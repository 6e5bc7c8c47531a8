/// All that a run of checks told.
public struct ConformanceReport: Sendable {
  /// The checks that were run, in order.
  public var checks: [Check]
  /// The titles of the subjects, in order.
  public var subjects: [String]
  /// The results.
  public var results: [CheckResult]
  /// The day, as `2027-01-31`.
  public var date: String
  /// The command that ran it, up to the options that choose checks: `genbench conform --backend ref`.
  public var command: String
  /// Fixed facts about the run, by name: versions, the engine's details.
  public var facts: [String: String]

  /// Makes a report.
  public init(
    checks: [Check], subjects: [String], results: [CheckResult], date: String, command: String, facts: [String: String] = [:]
  ) {
    self.checks = checks
    self.subjects = subjects
    self.results = results
    self.date = date
    self.command = command
    self.facts = facts
  }

  /// The result of a check on a subject.
  public func result(_ id: String, _ subject: String) -> CheckResult? {
    results.first { $0.id == id && $0.subject == subject }
  }

  /// How many results have a kind of verdict, in a group and of a subject; nil counts all.
  public func count(_ kind: Verdict.Kind, group: Check.Group? = nil, subject: String? = nil) -> Int {
    let groups = Dictionary(checks.map { ($0.id, $0.group) }, uniquingKeysWith: { first, _ in first })
    return results.count {
      $0.verdict.kind == kind && (group == nil || groups[$0.id] == group) && (subject == nil || $0.subject == subject)
    }
  }

  /// The groups that occur, in order.
  public var groups: [Check.Group] { Check.Group.allCases.filter { group in checks.contains { $0.group == group } } }

  /// The subjects that a group judges, in order.
  public func subjects(of group: Check.Group) -> [String] {
    let ids = Set(checks.filter { $0.group == group }.map(\.id))
    let judged = Set(results.filter { ids.contains($0.id) }.map(\.subject))
    return subjects.filter { judged.contains($0) }
  }

  /// Results that make the run fail: failures and unexpected passes, the most binding first.
  public var failures: [CheckResult] {
    let levels = Dictionary(checks.map { ($0.id, $0.level) }, uniquingKeysWith: { first, _ in first })
    let order = Check.Level.allCases
    func rank(_ result: CheckResult) -> Int { levels[result.id].flatMap { order.firstIndex(of: $0) } ?? order.count }
    return results.enumerated().filter { $0.element.verdict.kind == .fail || $0.element.verdict.kind == .unexpectedPass }
      .sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
  }

  /// Checks that broke instead of judging.
  public var errors: [CheckResult] { results.filter { $0.verdict.kind == .error } }

  /// Whether everything that could be judged is as it should be.
  public var isConforming: Bool { failures.isEmpty && errors.isEmpty }

  /// The line that runs one check again.
  public func reproduction(of id: String) -> String { "\(command) --filter '^\(Self.escaped(id))$'" }

  /// An id as a regular expression.
  private static func escaped(_ id: String) -> String { id.replacing(".", with: "\\.").replacing("+", with: "\\+") }

  /// One sentence about all.
  public var headline: String {
    let parts = Verdict.Kind.allCases.compactMap { kind -> String? in
      let count = count(kind)
      return count == 0 ? nil : "\(count) \(Self.word(kind, count))"
    }
    return parts.isEmpty ? "nothing was checked" : parts.joined(separator: ", ")
  }

  private static func word(_ kind: Verdict.Kind, _ count: Int) -> String {
    switch kind {
    case .pass: "passed"
    case .fail: "failed"
    case .skip: "skipped"
    case .error: count == 1 ? "error" : "errors"
    case .expectedFail: "failed as expected"
    case .unexpectedPass: "passed unexpectedly"
    }
  }
}
