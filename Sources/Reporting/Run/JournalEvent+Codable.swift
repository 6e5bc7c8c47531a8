extension JournalEvent: Codable {
  private enum Kind: String, Codable {
    case loaded, gate, warmup, sample, warning, beat
    case runStart = "run_start"
    case sessionStart = "session_start"
    case caseStart = "case_start"
    case caseEnd = "case_end"
    case sessionEnd = "session_end"
    case runEnd = "run_end"
  }

  private enum CodingKeys: String, CodingKey {
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

  private typealias Reader = KeyedDecodingContainer<CodingKeys>
  private typealias Writer = KeyedEncodingContainer<CodingKeys>

  /// Reads a line.
  ///
  /// - Throws: ``RunDocumentError`` for another schema.
  public init(from decoder: any Decoder) throws {
    let line = try decoder.container(keyedBy: CodingKeys.self)
    let schema = try line.decode(String.self, forKey: .schema)
    guard schema == Self.schemaName else { throw RunDocumentError("expected \(Self.schemaName), found \(schema)") }
    tNs = try line.decode(UInt64.self, forKey: .tNs)
    let kind = try line.decode(Kind.self, forKey: .type)
    switch kind {
    case .runStart:
      content = .runStart(
        RunStart(
          runID: try line.decode(String.self, forKey: .runID), at: try line.decode(String.self, forKey: .at),
          planHash: try line.decode(String.self, forKey: .planHash),
          shard: try line.decodeIfPresent(RunDocument.Shard.self, forKey: .shard)))
    case .runEnd:
      content = .runEnd(
        .init(
          code: try line.decode(Int32.self, forKey: .code), reason: try line.decodeIfPresent(String.self, forKey: .reason)))
    case .sessionStart, .loaded, .beat, .sessionEnd, .gate, .caseStart, .warmup, .sample, .warning, .caseEnd:
      let process = Process(
        session: try line.decode(Int.self, forKey: .session), subject: try line.decode(Int.self, forKey: .subject),
        order: try line.decodeIfPresent(Int.self, forKey: .order) ?? 0)
      content = .session(process, try Self.sessionEvent(kind, line))
    }
  }

  private static func sessionEvent(_ kind: Kind, _ line: Reader) throws -> SessionEvent {
    switch kind {
    case .sessionStart:
      return .start(pid: try line.decode(Int32.self, forKey: .pid), at: try line.decode(String.self, forKey: .at))
    case .loaded:
      return .loaded(try line.decode(RunSubject.self, forKey: .record), ns: try line.decode(UInt64.self, forKey: .ns))
    case .beat: return .beat
    case .sessionEnd, .runStart, .runEnd: return .end
    case .gate, .caseStart, .warmup, .sample, .warning, .caseEnd:
      return .ofCase(try line.decode(String.self, forKey: .key), try caseEvent(kind, line))
    }
  }

  private static func caseEvent(_ kind: Kind, _ line: Reader) throws -> CaseEvent {
    switch kind {
    case .gate: return .gate(try line.decode(RunCase.Conformance.self, forKey: .conformance))
    case .caseStart:
      return .start(
        CaseStart(
          caseID: try line.decode(String.self, forKey: .caseID),
          parameters: try line.decode(RunCase.Parameters.self, forKey: .parameters),
          loadNs: try line.decodeIfPresent(UInt64.self, forKey: .ns),
          baselineBytes: try line.decodeIfPresent(UInt64.self, forKey: .baselineBytes),
          overheadNs: try line.decodeIfPresent(UInt64.self, forKey: .overheadNs)))
    case .warmup: return .warmup(ns: try line.decode(UInt64.self, forKey: .ns))
    case .sample:
      return .sample(
        try line.decode(RunSession.Sample.self, forKey: .sample), try line.decode(Spans.self, forKey: .spans),
        artifacts: try line.decodeIfPresent([String].self, forKey: .artifacts) ?? [])
    case .warning: return .warning(try line.decode(String.self, forKey: .reason))
    default:
      var end = CaseEnd(
        try line.decode(RunCase.Status.self, forKey: .status), reason: try line.decodeIfPresent(String.self, forKey: .reason))
      end.memory = try line.decodeIfPresent(RunSession.MemoryTimeline.self, forKey: .memory)
      end.peakBytes = try line.decodeIfPresent(UInt64.self, forKey: .peakBytes)
      end.conditions = try line.decodeIfPresent(RunSession.ConditionsPair.self, forKey: .conditions)
      return .end(end)
    }
  }

  /// Writes a line.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(Self.schemaName, forKey: .schema)
    try line.encode(tNs, forKey: .tNs)
    switch content {
    case .runStart(let start):
      try line.encode(Kind.runStart, forKey: .type)
      try line.encode(start.runID, forKey: .runID)
      try line.encode(start.at, forKey: .at)
      try line.encode(start.planHash, forKey: .planHash)
      try line.encodeIfPresent(start.shard, forKey: .shard)
    case .runEnd(let exit):
      try line.encode(Kind.runEnd, forKey: .type)
      try line.encode(exit.code, forKey: .code)
      try line.encodeIfPresent(exit.reason, forKey: .reason)
    case .session(let process, let event):
      try line.encode(process.session, forKey: .session)
      try line.encode(process.subject, forKey: .subject)
      try line.encode(process.order, forKey: .order)
      try Self.encode(event, to: &line)
    }
  }

  private static func encode(_ event: SessionEvent, to line: inout Writer) throws {
    switch event {
    case .start(let pid, let at):
      try line.encode(Kind.sessionStart, forKey: .type)
      try line.encode(pid, forKey: .pid)
      try line.encode(at, forKey: .at)
    case .loaded(let record, let ns):
      try line.encode(Kind.loaded, forKey: .type)
      try line.encode(record, forKey: .record)
      try line.encode(ns, forKey: .ns)
    case .beat: try line.encode(Kind.beat, forKey: .type)
    case .end: try line.encode(Kind.sessionEnd, forKey: .type)
    case .ofCase(let key, let event):
      try line.encode(key, forKey: .key)
      try encode(event, to: &line)
    }
  }

  private static func encode(_ event: CaseEvent, to line: inout Writer) throws {
    switch event {
    case .gate(let verdict):
      try line.encode(Kind.gate, forKey: .type)
      try line.encode(verdict, forKey: .conformance)
    case .start(let start):
      try line.encode(Kind.caseStart, forKey: .type)
      try line.encode(start.caseID, forKey: .caseID)
      try line.encode(start.parameters, forKey: .parameters)
      try line.encodeIfPresent(start.loadNs, forKey: .ns)
      try line.encodeIfPresent(start.baselineBytes, forKey: .baselineBytes)
      try line.encodeIfPresent(start.overheadNs, forKey: .overheadNs)
    case .warmup(let ns):
      try line.encode(Kind.warmup, forKey: .type)
      try line.encode(ns, forKey: .ns)
    case .sample(let sample, let spans, let artifacts):
      try line.encode(Kind.sample, forKey: .type)
      try line.encode(sample, forKey: .sample)
      try line.encode(spans, forKey: .spans)
      if !artifacts.isEmpty { try line.encode(artifacts, forKey: .artifacts) }
    case .warning(let text):
      try line.encode(Kind.warning, forKey: .type)
      try line.encode(text, forKey: .reason)
    case .end(let end):
      try line.encode(Kind.caseEnd, forKey: .type)
      try line.encode(end.status, forKey: .status)
      try line.encodeIfPresent(end.reason, forKey: .reason)
      try line.encodeIfPresent(end.memory, forKey: .memory)
      try line.encodeIfPresent(end.peakBytes, forKey: .peakBytes)
      try line.encodeIfPresent(end.conditions, forKey: .conditions)
    }
  }
}
