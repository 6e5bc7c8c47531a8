import CSQLite
import Foundation

/// What SQLite said.
public struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
  /// SQLite's result code: 11 is a damaged file, 26 no database.
  public let code: Int32
  /// What was asked for, and what SQLite said.
  public let message: String
  /// The message.
  public var description: String { message }
  /// Whether the file is damaged or no database at all.
  public var isCorruption: Bool { code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB }
}

/// A value of a column.
public enum SQLiteValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)

  /// The value as text; nil for NULL.
  public var string: String? {
    switch self {
    case .null: nil
    case .integer(let value): String(value)
    case .real(let value): "\(value)"
    case .text(let value): value
    }
  }

  /// The value as a number; nil for others.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }
}

/// An open database; used by one caller at a time and closed with its scope.
struct SQLiteDatabase: ~Copyable {
  private let handle: OpaquePointer
  private let path: String

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - readOnly: Whether nothing may be changed, not even by SQL.
  ///   - busyMilliseconds: How long to wait for another writer.
  init(path: String, readOnly: Bool, busyMilliseconds: Int32 = 20_000) throws(SQLiteError) {
    var handle: OpaquePointer?
    let flags = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      let said = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "out of memory"
      sqlite3_close(handle)
      throw SQLiteError(code: code, message: "\(path): can't be opened: \(said)")
    }
    self.handle = handle
    self.path = path
    sqlite3_busy_timeout(handle, busyMilliseconds)
    if readOnly { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }
  }

  deinit { sqlite3_close_v2(handle) }

  private func failure(_ code: Int32, _ sql: String) -> SQLiteError {
    SQLiteError(code: code, message: "\(path): \(String(cString: sqlite3_errmsg(handle))) in: \(sql.prefix(200))")
  }

  /// Runs statements without results.
  func execute(_ sql: String) throws(SQLiteError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
  }

  /// Runs one statement.
  ///
  /// - Parameter mustBeReadOnly: Whether a statement that changes something is refused.
  /// - Returns: The names of its columns, and its rows.
  @discardableResult
  func query(_ sql: String, _ parameters: [SQLiteValue] = [], mustBeReadOnly: Bool = false) throws(SQLiteError) -> (
    columns: [String], rows: [[SQLiteValue]]
  ) {
    var statement: OpaquePointer?
    var rest = ""
    let code = sql.withCString { text -> Int32 in
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, text, -1, &statement, &tail)
      rest = tail.map { String(cString: $0) } ?? ""
      return code
    }
    defer { sqlite3_finalize(statement) }
    guard code == SQLITE_OK else { throw failure(code, sql) }
    guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "no statement in: \(sql.prefix(200))") }
    if !rest.allSatisfy({ $0.isWhitespace || $0 == ";" }) {
      throw SQLiteError(code: SQLITE_MISUSE, message: "one statement at a time; behind the first one stands: \(rest.prefix(100))")
    }
    if mustBeReadOnly, sqlite3_stmt_readonly(statement) == 0 {
      throw SQLiteError(
        code: SQLITE_READONLY, message: "only questions are answered, this would change something: \(sql.prefix(200))")
    }
    for (index, value) in parameters.enumerated() {
      let place = Int32(index + 1)
      let bound: Int32 =
        switch value {
        case .null: sqlite3_bind_null(statement, place)
        case .integer(let number): sqlite3_bind_int64(statement, place, number)
        case .real(let number): sqlite3_bind_double(statement, place, number)
        // -1 as a destructor is SQLITE_TRANSIENT: the text is copied.
        case .text(let text):
          sqlite3_bind_text(statement, place, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        }
      guard bound == SQLITE_OK else { throw failure(bound, sql) }
    }
    let count = sqlite3_column_count(statement)
    let columns = (0..<count).map { sqlite3_column_name(statement, $0).map { String(cString: $0) } ?? "" }
    var rows: [[SQLiteValue]] = []
    while true {
      let step = sqlite3_step(statement)
      if step == SQLITE_DONE { return (columns, rows) }
      guard step == SQLITE_ROW else { throw failure(step, sql) }
      rows.append(
        (0..<count).map { column in
          switch sqlite3_column_type(statement, column) {
          case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, column))
          case SQLITE_FLOAT: .real(sqlite3_column_double(statement, column))
          case SQLITE_NULL: .null
          default: sqlite3_column_text(statement, column).map { .text(String(cString: $0)) } ?? .null
          }
        })
    }
  }

  /// Runs a body as one transaction that is either done or not begun; it holds the database's one place for writers.
  func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      try? execute("ROLLBACK")
      throw error
    }
  }
}
