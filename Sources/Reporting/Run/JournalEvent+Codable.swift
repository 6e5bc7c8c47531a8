extension JournalEvent: Codable {
  /// A line as it stands in the file, whatever it tells.
  private struct Line: Codable {
    enum Kind: String, Codable {
      case loaded, gate, warmup, sample, warning, beat
      case runStart = "run_start"
      case sessionStart = "session_start"
      case caseStart = "case_start"
      case caseEnd = "case_end"
      case sessionEnd = "session_end"
      case runEnd = "run_end"
    }

    var schema = JournalEvent.schemaName
    var type: Kind
    var tNs: UInt64
    var session, order, subject: Int?
    var key, at, runID, planHash, caseID, reason: String?
    var pid, code: Int32?
    var ns, peakBytes, baselineBytes, overheadNs: UInt64?
    var shard: RunDocument.Shard?
    var parameters: RunCase.Parameters?
    var record: RunSubject?
    var conformance: RunCase.Conformance?
    var sample: RunSession.Sample?
    var spans: Spans?
    var artifacts: [String]?
    var status: RunCase.Status?
    var memory: RunSession.MemoryTimeline?
    var conditions: RunSession.ConditionsPair?

    enum CodingKeys: String, CodingKey {
      case schema, type, session, order, subject, key, pid, at, shard, parameters, record, ns, conformance, sample, spans, status,
        reason, memory, conditions, artifacts, code
      case tNs = "t_ns"
      case runID = "run_id"
      case planHash = "plan_hash"
      case caseID = "case_id"
      case peakBytes = "peak_bytes"
      case baselineBytes = "baseline_bytes"
      case overheadNs = "overhead_ns"
    }

    /// What a line of this type must have.
    func need<Value>(_ value: Value?, _ key: CodingKeys) throws -> Value {
      guard let value else { throw RunDocumentError("a line of type \(type.rawValue) without '\(key.stringValue)'") }
      return value
    }
  }

  /// Reads a line.
  ///
  /// - Throws: ``RunDocumentError`` for another schema, or when the line lacks something.
  public init(from decoder: any Decoder) throws {
    struct Header: Decodable { var schema: String }
    let schema = try Header(from: decoder).schema
    guard schema == Self.schemaName else { throw RunDocumentError("expected \(Self.schemaName), found \(schema)") }
    let line = try Line(from: decoder)
    tNs = line.tNs
    func ofSession(_ event: SessionEvent) throws -> Content {
      .session(
        Process(
          session: try line.need(line.session, .session), subject: try line.need(line.subject, .subject), order: line.order ?? 0),
        event)
    }
    func ofCase(_ event: CaseEvent) throws -> Content { try ofSession(.ofCase(try line.need(line.key, .key), event)) }
    switch line.type {
    case .runStart:
      content = .runStart(
        runID: try line.need(line.runID, .runID), at: try line.need(line.at, .at),
        planHash: try line.need(line.planHash, .planHash), shard: line.shard)
    case .runEnd: content = .runEnd(.init(code: try line.need(line.code, .code), reason: line.reason))
    case .sessionStart: content = try ofSession(.start(pid: line.need(line.pid, .pid), at: line.need(line.at, .at)))
    case .loaded: content = try ofSession(.loaded(line.need(line.record, .record), ns: line.need(line.ns, .ns)))
    case .beat: content = try ofSession(.beat)
    case .sessionEnd: content = try ofSession(.end)
    case .gate: content = try ofCase(.gate(line.need(line.conformance, .conformance)))
    case .caseStart:
      content = try ofCase(
        .start(
          caseID: line.need(line.caseID, .caseID), parameters: line.need(line.parameters, .parameters), loadNs: line.ns,
          baselineBytes: line.baselineBytes, overheadNs: line.overheadNs))
    case .warmup: content = try ofCase(.warmup(ns: line.need(line.ns, .ns)))
    case .sample:
      content = try ofCase(
        .sample(line.need(line.sample, .sample), line.need(line.spans, .spans), artifacts: line.artifacts ?? []))
    case .warning: content = try ofCase(.warning(line.need(line.reason, .reason)))
    case .caseEnd:
      var end = CaseEnd(try line.need(line.status, .status), reason: line.reason)
      (end.memory, end.peakBytes, end.conditions) = (line.memory, line.peakBytes, line.conditions)
      content = try ofCase(.end(end))
    }
  }

  /// Writes a line.
  public func encode(to encoder: any Encoder) throws {
    var line = Line(type: .beat, tNs: tNs)
    switch content {
    case .runStart(let runID, let at, let planHash, let shard):
      line.type = .runStart
      (line.runID, line.at, line.planHash, line.shard) = (runID, at, planHash, shard)
    case .runEnd(let exit):
      line.type = .runEnd
      (line.code, line.reason) = (exit.code, exit.reason)
    case .session(let process, let event):
      (line.session, line.subject, line.order) = (process.session, process.subject, process.order)
      Self.fill(&line, event)
    }
    try line.encode(to: encoder)
  }

  private static func fill(_ line: inout Line, _ event: SessionEvent) {
    switch event {
    case .beat: line.type = .beat
    case .end: line.type = .sessionEnd
    case .start(let pid, let at):
      line.type = .sessionStart
      (line.pid, line.at) = (pid, at)
    case .loaded(let record, let ns):
      line.type = .loaded
      (line.record, line.ns) = (record, ns)
    case .ofCase(let key, let event):
      line.key = key
      fill(&line, event)
    }
  }

  private static func fill(_ line: inout Line, _ event: CaseEvent) {
    switch event {
    case .gate(let verdict):
      line.type = .gate
      line.conformance = verdict
    case .start(let caseID, let parameters, let loadNs, let baselineBytes, let overheadNs):
      line.type = .caseStart
      (line.caseID, line.parameters, line.ns) = (caseID, parameters, loadNs)
      (line.baselineBytes, line.overheadNs) = (baselineBytes, overheadNs)
    case .warmup(let ns):
      line.type = .warmup
      line.ns = ns
    case .sample(let sample, let spans, let artifacts):
      line.type = .sample
      (line.sample, line.spans, line.artifacts) = (sample, spans, artifacts.isEmpty ? nil : artifacts)
    case .warning(let text):
      line.type = .warning
      line.reason = text
    case .end(let end):
      line.type = .caseEnd
      (line.status, line.reason, line.memory) = (end.status, end.reason, end.memory)
      (line.peakBytes, line.conditions) = (end.peakBytes, end.conditions)
    }
  }
}
