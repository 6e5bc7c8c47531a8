import GenBackend
public import Measurement

/// What happened, as soon as it happened: one line of `journal.jsonl`, schema `genbench.event/1`.
///
/// The same lines are what a session's process tells the one that started it.
public struct JournalEvent: Sendable, Hashable {
  /// The schema of every line.
  public static let schemaName = "genbench.event/1"

  /// What happened.
  public enum Content: Sendable, Hashable {
    /// The run began, or was resumed: its id, when (RFC 3339 in UTC), the plan's hash, the part that is measured (nil is all).
    case runStart(runID: String, at: String, planHash: String, shard: RunDocument.Shard?)
    /// Something in a session's process.
    case session(Process, SessionEvent)
    /// The run ended.
    case runEnd(RunDocument.Exit)
  }

  /// The process of a session.
  public struct Process: Sendable, Hashable {
    /// The session, from 0.
    public var session: Int
    /// The subject's place in the plan.
    public var subject: Int
    /// The place of the process among all of the run.
    public var order: Int

    /// Makes a record.
    public init(session: Int, subject: Int, order: Int) {
      self.session = session
      self.subject = subject
      self.order = order
    }
  }

  /// What a session's process tells.
  public enum SessionEvent: Sendable, Hashable {
    /// It began, with its process id; the time is RFC 3339 in UTC.
    case start(pid: Int32, at: String)
    /// The subject was loaded.
    case loaded(RunSubject, ns: UInt64)
    /// Something about a case, by its key in the plan.
    case ofCase(String, CaseEvent)
    /// It's alive; not kept.
    case beat
    /// It ended.
    case end
  }

  /// What a session's process tells of a case.
  public enum CaseEvent: Sendable, Hashable {
    /// The results of the configuration were judged.
    case gate(RunCase.Conformance)
    /// It began: the case's id, now that the model's defaults are known, what is asked of the backend, how long the load took, the
    /// resident size before it, what the harness costs a request.
    case start(
      caseID: String, parameters: RunCase.Parameters, loadNs: UInt64?, baselineBytes: UInt64?, overheadNs: UInt64?)
    /// A request that isn't counted took so long.
    case warmup(ns: UInt64)
    /// A request that is.
    case sample(RunSession.Sample, Spans, artifacts: [String])
    /// Something a reader of the numbers should know.
    case warning(String)
    /// It ended in this session, well or not.
    case end(CaseEnd)
  }

  /// The end of a case in a session.
  public struct CaseEnd: Sendable, Hashable {
    /// How it ended.
    public var status: RunCase.Status
    /// Why.
    public var reason: String?
    /// Memory over the case.
    public var memory: RunSession.MemoryTimeline?
    /// The largest resident size.
    public var peakBytes: UInt64?
    /// The machine before and after.
    public var conditions: RunSession.ConditionsPair?

    /// Makes a record.
    public init(_ status: RunCase.Status, reason: String? = nil) {
      self.status = status
      self.reason = reason
    }
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
      var names: [String] = []
      stage = spans.map { span in
        if let known = names.firstIndex(of: span.stage.rawValue) { return known }
        names.append(span.stage.rawValue)
        return names.count - 1
      }
      self.names = names
      index = spans.map { $0.index ?? -1 }
      startNs = spans.map { $0.startNs - min(sessionStartNs, $0.startNs) }
      ns = spans.map { $0.endNs - $0.startNs }
      depth = spans.map(\.depth)
    }
  }

  /// When, by the monotonic clock of the machine; for order, not for durations across processes.
  public var tNs: UInt64
  /// What happened.
  public var content: Content

  /// Makes an event.
  public init(_ content: Content, tNs: UInt64) {
    self.tNs = tNs
    self.content = content
  }

  /// The case that it is about, and what it tells of it; nil when it is about none.
  public var ofCase: (process: Process, key: String, event: CaseEvent)? {
    guard case .session(let process, .ofCase(let key, let event)) = content else { return nil }
    return (process, key, event)
  }
}
