public import Foundation
public import Measurement

/// Runs over time in an SQLite file: write-ahead log, versioned schema, safe for several writers at once.
public struct HistoryStore: Sendable {
  /// What an import did.
  public enum Import: Sendable, Hashable {
    case added
    /// A run of that id was there.
    case known
  }

  /// A run in the list.
  public struct Entry: Sendable, Hashable, Codable {
    /// Its id.
    public var runID: String
    /// When it began.
    public var createdAt: String
    /// The commit.
    @NullEncoded public var commit: String?
    /// The machine's name or processor.
    @NullEncoded public var machine: String?
    /// How many cases, and how many of them didn't pass.
    public var cases: Int
    /// Cases that didn't pass.
    public var notPassed: Int
    /// The exit code.
    public var exitCode: Int

    private enum CodingKeys: String, CodingKey {
      case commit, machine, cases
      case runID = "run_id"
      case createdAt = "created_at"
      case notPassed = "not_passed"
      case exitCode = "exit_code"
    }
  }

  private let path: String

  /// Names a file; it's made when something is imported.
  public init(file: URL) { path = file.path }

  /// The copy of a damaged file that was set aside by the last call, said once.
  public struct SetAside: Sendable, Hashable {
    /// Where the damaged file is now.
    public var path: String
    /// What SQLite said of it.
    public var reason: String
  }

  /// Adds runs, each in one transaction; runs with a fault injected aren't taken.
  ///
  /// A damaged file is set aside and a new one begun.
  /// - Returns: What became of each run, and what was set aside.
  /// - Throws: ``SQLiteError`` when the file can't be opened or written.
  public func add(_ runs: [RunDocument]) throws(SQLiteError) -> (outcomes: [Import], setAside: SetAside?) {
    do {
      return (try insert(runs), nil)
    } catch {
      guard error.isCorruption else { throw error }
      let aside = try setAside(error.message)
      return (try insert(runs), aside)
    }
  }

  private func insert(_ runs: [RunDocument]) throws(SQLiteError) -> [Import] {
    let database = try openForWriting()
    var outcomes: [Import] = []
    for run in runs {
      outcomes.append(try database.transaction { () throws(SQLiteError) in try Self.insert(run, into: database) })
    }
    return outcomes
  }

  /// Opens, checks and brings up to date.
  private func openForWriting() throws(SQLiteError) -> SQLiteDatabase {
    let database = try SQLiteDatabase(path: path, readOnly: false)
    try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    let check = try database.query("PRAGMA quick_check(1)").rows.first?.first?.string ?? ""
    guard check == "ok" else { throw SQLiteError(code: 11, message: "\(path): damaged: \(check)") }
    if try Self.version(database) < HistorySchema.version {
      try database.transaction { () throws(SQLiteError) in
        // Another writer may have done it in the meantime.
        let version = try Self.version(database)
        guard version < HistorySchema.version else { return }
        for sql in HistorySchema.migrations[version...] { try database.execute(sql) }
        try database.execute("PRAGMA user_version = \(HistorySchema.version)")
      }
    }
    try checkVersion(database)
    return database
  }

  private static func version(_ database: borrowing SQLiteDatabase) throws(SQLiteError) -> Int {
    guard case .integer(let version)? = try database.query("PRAGMA user_version").rows.first?.first else { return 0 }
    return Int(version)
  }

  private func checkVersion(_ database: borrowing SQLiteDatabase) throws(SQLiteError) {
    let version = try Self.version(database)
    guard version == HistorySchema.version else {
      throw SQLiteError(
        code: 1, message: "\(path): schema \(version): this genbench knows \(HistorySchema.version); use the one that wrote it")
    }
  }

  /// Moves a damaged file with its log out of the way.
  private func setAside(_ reason: String) throws(SQLiteError) -> SetAside {
    var number = 1
    while FileManager.default.fileExists(atPath: "\(path).damaged-\(number)") { number += 1 }
    let target = "\(path).damaged-\(number)"
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
      do { try FileManager.default.moveItem(atPath: path + suffix, toPath: target + suffix) } catch {
        throw SQLiteError(code: 14, message: "\(path + suffix): damaged, and can't be set aside: \(error.localizedDescription)")
      }
    }
    return SetAside(path: target, reason: reason)
  }

  private static func insert(_ run: RunDocument, into database: borrowing SQLiteDatabase) throws(SQLiteError) -> Import {
    let known = try database.query("SELECT 1 FROM run WHERE run_id = ?", [.text(run.runID)]).rows
    if !known.isEmpty { return .known }
    func text(_ value: String?) -> SQLiteValue { value.map { .text($0) } ?? .null }
    func real(_ value: Double?) -> SQLiteValue { value.map { .real($0) } ?? .null }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    func json(_ value: some Encodable) -> SQLiteValue {
      .text((try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}")
    }
    let environment = run.environment
    try database.query(
      "INSERT INTO run VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      [
        .text(run.runID), .text(run.createdAt), text(environment.machineID), text(environment.machineName),
        text(environment.cpu.model),
        text(environment.os.name), text(run.tool.commit), run.tool.dirty.map { .integer($0 ? 1 : 0) } ?? .null,
        .text(run.tool.version), .text(run.tool.build.config), json(run.labels), json(environment),
        .integer(Int64(run.exit.code)),
        .text(run.faults.joined(separator: ",")),
      ])
    for runCase in run.cases {
      let subject = run.subjects.first { $0.id == runCase.subject }
      try database.query(
        """
        INSERT OR REPLACE INTO result(run_id,case_id,side,subject,backend,model,precision,scenario,status,conformance,reason)
        VALUES(?,?,?,?,?,?,?,?,?,?,?)
        """,
        [
          .text(run.runID), .text(runCase.caseID), .text(runCase.side ?? ""), .text(runCase.subject),
          .text(subject?.backend.name ?? ""),
          .text(subject?.model.name ?? ""), .text(subject?.model.precision ?? ""), .text(runCase.scenario.rawValue),
          .text(runCase.status.rawValue), text(runCase.conformance?.result.rawValue), text(runCase.statusReason),
        ])
      guard case .integer(let id)? = try database.query("SELECT last_insert_rowid()").rows.first?.first else { continue }
      for metric in runCase.metrics {
        let summary = metric.summary
        try database.query(
          "INSERT OR REPLACE INTO metric VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
          [
            .integer(id), .text(metric.name.rawValue), .text(metric.unit.rawValue), .text(metric.polarity.rawValue),
            .text(metric.scope.rawValue),
            .integer(Int64(summary.n)), real(summary.median), real(summary.mean), real(summary.stddev), real(summary.mad),
            real(summary.min), real(summary.max), real(summary.ci?.low), real(summary.ci?.high), real(summary.percentiles["90"]),
            real(summary.percentiles["99"]),
          ])
        for (session, median) in metric.sessionMedians.enumerated() {
          try database.query(
            "INSERT OR REPLACE INTO session_value VALUES(?,?,?,?)",
            [.integer(id), .text(metric.name.rawValue), .integer(Int64(session)), .real(median)])
        }
      }
    }
    return .added
  }

  // MARK: - Reading

  private func openForReading() throws(SQLiteError) -> SQLiteDatabase {
    guard FileManager.default.fileExists(atPath: path) else {
      throw SQLiteError(code: 14, message: "\(path): there's no history yet; 'genbench history import RUN' begins one")
    }
    let database = try SQLiteDatabase(path: path, readOnly: true)
    try checkVersion(database)
    return database
  }

  /// Whether there's a file at all.
  public var exists: Bool { FileManager.default.fileExists(atPath: path) }

  /// The runs, newest first.
  ///
  /// - Throws: ``SQLiteError``.
  public func list(limit: Int = 1000) throws(SQLiteError) -> [Entry] {
    let database = try openForReading()
    let rows = try database.query(
      """
      SELECT run.run_id, created_at, commit_id, coalesce(machine_name, cpu), count(result_id),
        coalesce(sum(status <> 'pass'), 0), exit_code
      FROM run LEFT JOIN result USING(run_id) GROUP BY run.run_id ORDER BY created_at DESC, run.run_id DESC LIMIT ?
      """, [.integer(Int64(limit))]
    ).rows
    return rows.map { row in
      var entry = Entry(
        runID: row[0].string ?? "", createdAt: row[1].string ?? "", cases: Int(row[4].double ?? 0),
        notPassed: Int(row[5].double ?? 0), exitCode: Int(row[6].double ?? 0))
      entry.commit = row[2].string
      entry.machine = row[3].string
      return entry
    }
  }

  /// Answers a question in SQL; nothing can be changed by it.
  ///
  /// - Throws: ``SQLiteError``, for statements that would change something, and for several at once.
  public func query(_ sql: String) throws(SQLiteError) -> (columns: [String], rows: [[SQLiteValue]]) {
    let database = try openForReading()
    return try database.query(sql, mustBeReadOnly: true)
  }

  /// The course of a quantity, one series a case and machine; runs that didn't pass are left out.
  ///
  /// - Parameters:
  ///   - metric: The quantity.
  ///   - matches: Whether a case is wanted.
  /// - Throws: ``SQLiteError``.
  public func trend(_ metric: MetricName, where matches: (String) -> Bool = { _ in true }) throws(SQLiteError) -> [HistoryTrend] {
    let database = try openForReading()
    let rows = try database.query(
      """
      SELECT case_id, side, coalesce(machine_id, ''), coalesce(machine_name, ''), build, unit, polarity, created_at, run_id, commit_id,
        median, ci_low, ci_high
      FROM trend WHERE metric = ? AND status = 'pass' AND median IS NOT NULL ORDER BY created_at, run_id
      """, [.text(metric.rawValue)]
    ).rows
    var series: [String: HistoryTrend] = [:]
    var order: [String] = []
    for row in rows {
      guard let caseID = row[0].string, matches(caseID), let median = row[10].double,
        let unit = row[5].string.flatMap({ MetricUnit(rawValue: $0) })
      else { continue }
      let side = row[1].string ?? ""
      let key = [caseID, side, row[2].string ?? "", row[4].string ?? ""].joined(separator: "\u{1f}")
      if series[key] == nil {
        order.append(key)
        series[key] = HistoryTrend(
          caseID: side.isEmpty ? caseID : "\(caseID) [\(side)]", metric: metric, unit: unit,
          isLowerBetter: row[6].string != "higher", machine: row[3].string ?? "", build: row[4].string ?? "")
      }
      var point = HistoryTrend.Point(createdAt: row[7].string ?? "", runID: row[8].string ?? "", median: median)
      point.commit = row[9].string
      point.low = row[11].double
      point.high = row[12].double
      series[key]?.points.append(point)
    }
    return order.compactMap { key in
      var trend = series[key]
      trend?.findChanges()
      return trend
    }
  }
}

/// A quantity of a case on a machine over time.
public struct HistoryTrend: Sendable, Hashable, Codable {
  /// One run.
  public struct Point: Sendable, Hashable, Codable {
    /// When it began.
    public var createdAt: String
    /// The run.
    public var runID: String
    /// The commit.
    @NullEncoded public var commit: String?
    /// The median.
    public var median: Double
    /// The lower end of its interval.
    @NullEncoded public var low: Double?
    /// The upper end.
    @NullEncoded public var high: Double?

    private enum CodingKeys: String, CodingKey {
      case commit, median, low, high
      case createdAt = "created_at"
      case runID = "run_id"
    }

    /// Makes a point without an interval.
    public init(createdAt: String, runID: String, median: Double) {
      self.createdAt = createdAt
      self.runID = runID
      self.median = median
    }
  }

  /// A place where the level changed.
  public struct Change: Sendable, Hashable, Codable {
    /// The first point of the new level.
    public var index: Int
    /// The run in which it was first seen.
    public var runID: String
    /// Its commit.
    @NullEncoded public var commit: String?
    /// The new level over the old one, minus 1.
    public var change: Double
    /// Whether it's worse.
    public var isWorse: Bool

    private enum CodingKeys: String, CodingKey {
      case index, commit, change
      case runID = "run_id"
      case isWorse = "worse"
    }
  }

  /// The case.
  public var caseID: String
  /// The quantity.
  public var metric: MetricName
  /// Its unit.
  public var unit: MetricUnit
  /// Whether less is better.
  public var isLowerBetter: Bool
  /// The machine's name.
  public var machine: String
  /// `debug` or `release`.
  public var build: String
  /// The runs in the order of time.
  public var points: [Point] = []
  /// Where the level changed.
  public var changes: [Change] = []

  private enum CodingKeys: String, CodingKey {
    case metric, unit, machine, build, points, changes
    case caseID = "case_id"
    case isLowerBetter = "lower_is_better"
  }

  /// Makes an empty course.
  public init(caseID: String, metric: MetricName, unit: MetricUnit, isLowerBetter: Bool, machine: String, build: String) {
    self.caseID = caseID
    self.metric = metric
    self.unit = unit
    self.isLowerBetter = isLowerBetter
    self.machine = machine
    self.build = build
  }

  /// Finds the places where the level changed by more than `threshold`.
  public mutating func findChanges(threshold: Double = 0.03) {
    let levels = Statistics.levels(points.map(\.median))
    changes = zip(levels, levels.dropFirst()).compactMap { before, after in
      guard before.median > 0 else { return nil }
      let ratio = after.median / before.median - 1
      guard abs(ratio) >= threshold else { return nil }
      var change = Change(
        index: after.start, runID: points[after.start].runID, change: ratio, isWorse: (ratio > 0) == isLowerBetter)
      change.commit = points[after.start].commit
      return change
    }
  }
}
