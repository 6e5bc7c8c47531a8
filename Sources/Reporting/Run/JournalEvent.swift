import GenBackend
public import Measurement

/// One line of `journal.jsonl`, schema `genbench.event/1`: what happened, as soon as it happened.
///
/// The same lines are what a session's process tells the one that started it.
public struct JournalEvent: Sendable, Hashable, Codable {
  /// The schema of every line.
  public static let schemaName = "genbench.event/1"

  /// What happened.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The run began, or was resumed.
    case runStart = "run_start"
    /// A session's process began with a subject.
    case sessionStart = "session_start"
    /// The subject was loaded.
    case loaded
    /// A configuration was judged.
    case gate
    /// A case began.
    case caseStart = "case_start"
    /// A request that isn't counted.
    case warmup
    /// A request that is.
    case sample
    /// A case ended in this session, well or not.
    case caseEnd = "case_end"
    /// A session's process ended.
    case sessionEnd = "session_end"
    /// Something a reader of the numbers should know.
    case warning
    /// The process is alive; not kept.
    case beat
    /// The run ended.
    case runEnd = "run_end"
  }

  /// Stages of a request with their times, one entry each; from the session's start.
  public struct Spans: Sendable, Hashable, Codable {
    /// Names, each once.
    public var names: [String]
    /// Which name.
    public var stage: [Int]
    /// The step or token, or -1.
    public var index: [Int]
    /// When it began.
    public var startNs: [UInt64]
    /// How long it took.
    public var ns: [UInt64]
    /// How many stages it lies in.
    public var depth: [Int]

    private enum CodingKeys: String, CodingKey {
      case names, stage, index, ns, depth
      case startNs = "start_ns"
    }

    /// Takes the stages of a request.
    public init(_ spans: [StageSpan], sessionStartNs: UInt64) {
      names = []
      stage = []
      index = []
      startNs = []
      ns = []
      depth = []
      for span in spans {
        let name = span.stage.rawValue
        if !names.contains(name) { names.append(name) }
        stage.append(names.firstIndex(of: name) ?? 0)
        index.append(span.index ?? -1)
        startNs.append(span.startNs - min(sessionStartNs, span.startNs))
        ns.append(span.endNs - span.startNs)
        depth.append(span.depth)
      }
    }
  }

  /// `genbench.event/1`.
  public var schema: String
  /// What happened.
  public var type: Kind
  /// When, by the monotonic clock of the machine; for order, not for durations across processes.
  public var tNs: UInt64
  /// The session, from 0.
  public var session: Int?
  /// The place of the process among all of the run.
  public var order: Int?
  /// The subject's place in the plan.
  public var subject: Int?
  /// The case's key in the plan.
  public var key: String?
  /// The process.
  public var pid: Int32?
  /// When, RFC 3339 in UTC.
  public var at: String?
  /// The run's id.
  public var runID: String?
  /// The plan's hash.
  public var planHash: String?
  /// The part of the plan.
  public var shard: RunDocument.Shard?
  /// The case's id, once the model's defaults are known.
  public var caseID: String?
  /// What was asked of the backend.
  public var parameters: RunCase.Parameters?
  /// The subject, once it's loaded.
  public var record: RunSubject?
  /// Nanoseconds: of the load, of a warm-up.
  public var ns: UInt64?
  /// The verdict on a configuration.
  public var conformance: RunCase.Conformance?
  /// Operations of the stages.
  public var work: [String: StageWork]?
  /// A counted request.
  public var sample: RunSession.Sample?
  /// Its stages.
  public var spans: Spans?
  /// How a case ended in this session.
  public var status: RunCase.Status?
  /// Why it ended so, or a warning's text.
  public var reason: String?
  /// Memory over the case.
  public var memory: RunSession.MemoryTimeline?
  /// The largest resident size.
  public var peakBytes: UInt64?
  /// The resident size before anything was loaded.
  public var baselineBytes: UInt64?
  /// What the harness costs a request.
  public var overheadNs: UInt64?
  /// The machine before and after.
  public var conditions: RunSession.ConditionsPair?
  /// Files, relative to the run's folder.
  public var artifacts: [String]?
  /// The exit code of a run or process.
  public var code: Int32?

  private enum CodingKeys: String, CodingKey {
    case schema, type, session, order, subject, key, pid, at, shard, parameters, record, ns, conformance, work, sample, spans,
      status, reason, memory, conditions, artifacts, code
    case tNs = "t_ns"
    case runID = "run_id"
    case planHash = "plan_hash"
    case caseID = "case_id"
    case peakBytes = "peak_bytes"
    case baselineBytes = "baseline_bytes"
    case overheadNs = "overhead_ns"
  }

  /// Makes an event.
  public init(_ type: Kind, tNs: UInt64, session: Int? = nil, subject: Int? = nil, key: String? = nil) {
    schema = Self.schemaName
    self.type = type
    self.tNs = tNs
    self.session = session
    self.subject = subject
    self.key = key
  }
}
