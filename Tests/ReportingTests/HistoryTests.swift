import Foundation
import Measurement
import Synchronization
import Testing

@testable import Reporting

@Suite struct HistoryTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-history-\(UUID().uuidString)")
  private var file: URL { folder.appendingPathComponent("history.sqlite") }

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  private func run(_ number: Int, ms: Double = 50, machine: String = "here", status: RunCase.Status = .pass) -> RunDocument {
    var run = emptyRun(machine: machine)
    run.runID = "run-\(number)-\(machine)"
    run.createdAt = String(format: "2026-01-%02dT00:00:00.000Z", number % 28 + 1)
    run.tool.commit = "commit\(number)"
    var runCase = RunCase(caseID: "x", subject: "s", parameters: .init())
    runCase.metrics = [
      .init(
        .of(.endToEnd), sessions: (0..<5).map { [ms * 1e6 * (1 + 0.002 * Double($0 + number % 3))] })
    ]
    runCase.status = status
    run.cases = [runCase]
    return run
  }

  @Test func runsAreAddedOnceAndListed() throws {
    let store = HistoryStore(file: file)
    #expect(!store.exists)
    #expect(throws: SQLiteError.self) { try store.list() }
    #expect(try store.add([run(1), run(2), run(1)]).outcomes == [.added, .added, .known])
    #expect(try store.add([run(2)]).outcomes == [.known])
    let entries = try store.list()
    #expect(entries.map(\.runID) == ["run-2-here", "run-1-here"] && entries[0].cases == 1 && entries[0].notPassed == 0)
    #expect(try store.list(limit: 1).count == 1)
  }

  @Test func trendsFindTheCommit() throws {
    let store = HistoryStore(file: file)
    var runs = (0..<20).map { run($0, ms: $0 < 12 ? 50 : 60) }
    runs.append(run(20, ms: 1, status: .invalid))
    runs.append(run(5, ms: 500, machine: "there"))
    _ = try store.add(runs)
    let trends = try store.trend(.endToEnd)
    #expect(trends.count == 2, "a series a machine")
    let trend = try #require(trends.first { $0.points.count == 20 })
    #expect(trend.changes.map(\.index) == [12] && trend.changes[0].commit == "commit12" && trend.changes[0].isWorse)
    #expect(abs(trend.changes[0].change - 0.2) < 0.01)
    #expect(try store.trend(.endToEnd, where: { $0 == "y" }).isEmpty)
    #expect(try store.trend(MetricName(rawValue: "nothing")).isEmpty)
    var strict = trend
    strict.findChanges(threshold: 0.5)
    #expect(strict.changes.isEmpty)
  }

  @Test(arguments: [
    "DELETE FROM run", "INSERT INTO run(run_id) VALUES('x')", "DROP TABLE run", "PRAGMA user_version = 7",
    "ATTACH 'other.db' AS o",
    "SELECT 1; DELETE FROM run", "CREATE TABLE t(x)", "", "nonsense",
  ]) func questionsChangeNothing(sql: String) throws {
    let store = HistoryStore(file: file)
    _ = try store.add([run(1)])
    #expect(throws: SQLiteError.self) { try store.query(sql) }
    #expect(try store.list().count == 1)
    #expect(try store.query("PRAGMA user_version").rows == [[.integer(Int64(HistorySchema.version))]])
  }

  @Test func questionsAreAnswered() throws {
    let store = HistoryStore(file: file)
    _ = try store.add([run(1), run(2)])
    let answer = try store.query("SELECT run_id, median, NULL AS n FROM latest; ")
    #expect(answer.columns == ["run_id", "median", "n"] && answer.rows.count == 1)
    #expect(answer.rows[0][0] == .text("run-2-here") && answer.rows[0][2] == .null && (answer.rows[0][1].double ?? 0) > 5e7)
    #expect(try store.query("SELECT count(*) FROM session_value").rows == [[.integer(10)]])
  }

  @Test func twoWritersAtOnceLoseNothing() throws {
    let path = file
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { writer in
      for number in 0..<6 {
        do { _ = try HistoryStore(file: path).add([run(number, machine: "m\(writer)")]) } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try HistoryStore(file: file).list().count == 24)
    let database = try SQLiteDatabase(path: file.path, readOnly: true)
    #expect(try database.query("PRAGMA journal_mode").rows == [[.text("wal")]])
  }

  @Test func aDamagedFileIsSetAsideAndANewOneBegun() throws {
    let store = HistoryStore(file: file)
    _ = try store.add((0..<30).map { run($0) })
    // Checkpointed and closed; now pages in the middle are overwritten.
    var bytes = try Data(contentsOf: file)
    #expect(bytes.count > 20_000)
    for index in 4096..<16_000 { bytes[index] = 0xA5 }
    try bytes.write(to: file)
    try? FileManager.default.removeItem(atPath: file.path + "-wal")
    try? FileManager.default.removeItem(atPath: file.path + "-shm")
    let result = try store.add([run(50)])
    let aside = try #require(result.setAside)
    let kept = try Data(contentsOf: URL(fileURLWithPath: aside.path))
    #expect(aside.path.hasSuffix(".damaged-1") && kept == bytes)
    #expect(try store.list().map(\.runID) == ["run-50-here"])
    try Data("not a database, but long enough to have a header".utf8).write(to: file)
    let error = #expect(throws: SQLiteError.self) { try store.list() }
    #expect(error?.isCorruption == true)
    let second = try store.add([run(51)]).setAside
    #expect(second?.path.hasSuffix(".damaged-2") == true)
  }

  @Test func olderSchemasAreBroughtUpToDateAndNewerRefused() throws {
    do {
      let old = try SQLiteDatabase(path: file.path, readOnly: false)
      try old.execute(HistorySchema.migrations[0])
      try old.execute("PRAGMA user_version = 1")
    }
    let store = HistoryStore(file: file)
    #expect(throws: SQLiteError.self, "reading doesn't migrate") { try store.list() }
    _ = try store.add([run(1)])
    #expect(try store.query("SELECT count(*) FROM trend").rows == [[.integer(1)]])
    do {
      let new = try SQLiteDatabase(path: file.path, readOnly: false)
      try new.execute("PRAGMA user_version = 99")
    }
    let error = #expect(throws: SQLiteError.self) { try store.add([run(2)]) }
    #expect(error?.message.contains("schema 99") == true && error?.isCorruption == false)
  }

  @Test func anUnwritablePlaceThrows() {
    #expect(throws: SQLiteError.self) { try HistoryStore(file: URL(fileURLWithPath: "/proc/nowhere/h.sqlite")).add([run(1)]) }
  }
}
