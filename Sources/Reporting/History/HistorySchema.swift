/// The tables of the history; `user_version` is the number of the schema.
enum HistorySchema {
  /// The schema that is written.
  static let version = 2

  /// How to get from each version to the next one; the first begins with an empty file.
  static let migrations: [String] = [
    """
    CREATE TABLE run(
      run_id TEXT PRIMARY KEY, created_at TEXT NOT NULL, machine_id TEXT, machine_name TEXT, cpu TEXT, os TEXT, commit_id TEXT,
      dirty INTEGER, tool_version TEXT NOT NULL, build TEXT NOT NULL, labels_json TEXT NOT NULL, environment_json TEXT NOT NULL,
      exit_code INTEGER NOT NULL, faults TEXT NOT NULL
    ) STRICT;
    CREATE TABLE result(
      result_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run(run_id) ON DELETE CASCADE, case_id TEXT NOT NULL,
      side TEXT NOT NULL, subject TEXT NOT NULL, backend TEXT NOT NULL, model TEXT NOT NULL, precision TEXT NOT NULL,
      scenario TEXT NOT NULL, status TEXT NOT NULL, conformance TEXT, reason TEXT, UNIQUE(run_id, case_id, side)
    ) STRICT;
    CREATE TABLE metric(
      result_id INTEGER NOT NULL REFERENCES result(result_id) ON DELETE CASCADE, name TEXT NOT NULL, unit TEXT NOT NULL,
      polarity TEXT NOT NULL, scope TEXT NOT NULL, n INTEGER NOT NULL, median REAL, mean REAL, stddev REAL, mad REAL, min REAL,
      max REAL, ci_low REAL, ci_high REAL, p90 REAL, p99 REAL, PRIMARY KEY(result_id, name)
    ) STRICT;
    CREATE TABLE session_value(
      result_id INTEGER NOT NULL REFERENCES result(result_id) ON DELETE CASCADE, name TEXT NOT NULL, session INTEGER NOT NULL,
      median REAL NOT NULL, PRIMARY KEY(result_id, name, session)
    ) STRICT;
    CREATE INDEX result_case ON result(case_id, run_id);
    """,
    """
    CREATE VIEW trend AS
      SELECT run.created_at, run.run_id, run.commit_id, run.machine_id, run.machine_name, run.build, result.case_id, result.side,
        result.status, metric.name AS metric, metric.unit, metric.polarity, metric.n, metric.median, metric.ci_low, metric.ci_high
      FROM metric JOIN result USING(result_id) JOIN run USING(run_id);
    CREATE VIEW latest AS
      SELECT * FROM trend WHERE run_id = (SELECT run_id FROM run ORDER BY created_at DESC, run_id DESC LIMIT 1);
    """,
  ]
}
