import Measurement

/// Puts the events of a journal together: the cases of a run, and what is still to be done.
public struct RunAssembler: Sendable {
  private struct Place: Hashable {
    var session: Int
    var key: String
    var subject: Int
  }

  private let plan: RunPlan
  private var subjects: [Int: RunSubject] = [:]
  private var sessions: [Place: RunSession] = [:]
  private var ended: [Place: JournalEvent.CaseEnd] = [:]
  private var ids: [Place: String] = [:]
  private var parameters: [Place: RunCase.Parameters] = [:]
  private var verdicts: [Int: [String: RunCase.Conformance]] = [:]
  private var artifacts: [Int: [String: [String]]] = [:]
  /// The process that a subject is measured in now.
  private var current: [Int: (order: Int, pid: Int32, at: String)] = [:]
  /// The warnings so far, each once.
  public private(set) var warnings: [String] = []
  /// The run's id, once it's known.
  public private(set) var runID: String?
  /// The part of the plan that's measured.
  public private(set) var shard: RunDocument.Shard?
  /// When the run began.
  public private(set) var startedAt: String?

  /// Starts with nothing.
  public init(plan: RunPlan) { self.plan = plan }

  /// Takes the next event.
  public mutating func add(_ event: JournalEvent) {
    switch event.content {
    case .runStart(let id, let at, _, let part):
      runID = runID ?? id
      shard = shard ?? part
      startedAt = startedAt ?? at
    case .runEnd: break
    case .session(let process, let event):
      switch event {
      case .start(let pid, let at): current[process.subject] = (process.order, pid, at)
      case .loaded(let record, _): subjects[process.subject] = record
      case .beat, .end: break
      case .ofCase(let key, let event): add(event, of: key, in: process)
      }
    }
  }

  private mutating func add(_ event: JournalEvent.CaseEvent, of key: String, in process: JournalEvent.Process) {
    let subject = process.subject
    guard plan.subjects.indices.contains(subject) else { return }
    let place = Place(session: process.session, key: key, subject: subject)
    let now = current[subject]
    var session =
      sessions[place]
      ?? RunSession(
        session: process.session, order: now?.order ?? process.order, pid: now?.pid ?? 0, startedAt: now?.at ?? "", loadNs: nil)
    if let pid = now?.pid { session.pid = pid }
    switch event {
    case .warning(let text):
      if !warnings.contains(text) { warnings.append(text) }
      return
    case .gate(let verdict):
      verdicts[subject, default: [:]][key] = verdict
      return
    case .start(let caseID, let parameters, let loadNs, let baselineBytes, let overheadNs):
      ids[place] = caseID
      self.parameters[place] = parameters
      // A resumed session keeps the load of its first process.
      session.loadNs = session.loadNs ?? loadNs
      session.baselineBytes = session.baselineBytes ?? baselineBytes
      session.overheadNs = session.overheadNs ?? overheadNs
    case .warmup(let ns): session.warmupNs.append(ns)
    case .sample(var sample, _, let files):
      sample.index = session.samples.count
      session.samples.append(sample)
      let known = artifacts[subject]?[key] ?? []
      artifacts[subject, default: [:]][key] = known + files.filter { !known.contains($0) }
    case .end(let end):
      session.memory = end.memory ?? session.memory
      session.peakBytes = end.peakBytes.map { max($0, session.peakBytes ?? 0) } ?? session.peakBytes
      session.conditions = end.conditions ?? session.conditions
      ended[place] = end
    }
    sessions[place] = session
  }

  /// How many counted requests a session has of a case.
  public func sampleCount(session: Int, subject: Int, key: String) -> Int {
    sessions[Place(session: session, key: key, subject: subject)]?.samples.count ?? 0
  }

  /// Time that those took, in ns.
  public func measuredNs(session: Int, subject: Int, key: String) -> UInt64 {
    sessions[Place(session: session, key: key, subject: subject)]?.samples.reduce(0) { $0 + $1.e2eNs } ?? 0
  }

  /// Whether a session is done with a case, well or not; an interrupted one isn't.
  public func isDone(session: Int, subject: Int, key: String) -> Bool {
    guard let end = ended[Place(session: session, key: key, subject: subject)] else { return false }
    return end.status != .incomplete
  }

  /// Whether the results of a case were judged.
  public func isJudged(subject: Int, key: String) -> Bool { verdicts[subject]?[key] != nil }

  /// The subjects that were loaded, in the order of the plan.
  public var loadedSubjects: [RunSubject] { plan.subjects.indices.compactMap { subjects[$0] } }

  /// The cases, in the order of the plan.
  ///
  /// - Parameter keys: The cases that are wanted; nil is all.
  public func cases(of keys: Set<String>? = nil) -> [RunCase] {
    plan.cases.compactMap { planned in
      if let keys, !keys.contains(planned.key) { return nil }
      return assemble(planned)
    }
  }

  private func assemble(_ planned: RunPlan.Case) -> RunCase {
    let places = (0..<plan.effort.sessions).map { Place(session: $0, key: planned.key, subject: planned.subject) }
    let settings = places.compactMap { parameters[$0] }.first
    var result = RunCase(
      caseID: places.compactMap { ids[$0] }.first ?? planned.key, key: planned.key, side: plan.side(of: planned),
      subject: subjects[planned.subject]?.id ?? plan.subjects[planned.subject].name, scenario: planned.scenario,
      parameters: settings
        ?? .init(
          steps: planned.steps, width: planned.width, height: planned.height, guidance: planned.guidance,
          scheduler: planned.scheduler, seed: plan.seed, maxTokens: planned.maxTokens))
    result.sessions = places.compactMap { sessions[$0] }
    result.artifacts = artifacts[planned.subject]?[planned.key] ?? []
    result.conformance = verdicts[planned.subject]?[planned.key]
    result.metrics = MetricDefinition.metrics(of: result.sessions, scenario: planned.scenario)
    if planned.scenario == .sustained {
      result.sustained =
        result.sessions.lazy.compactMap { session in
          SustainedRecord(session.samples.map { (startNs: $0.startNs, ns: $0.e2eNs) })
        }.first
    }
    // The worst of all sessions is the case's.
    let ends = places.compactMap { ended[$0] }
    let order: [RunCase.Status] = [.crash, .timeout, .outOfMemory, .error, .incomplete]
    if let worst = order.lazy.compactMap({ status in ends.first { $0.status == status } }).first {
      result.status = worst.status
      result.statusReason = worst.reason
    } else if ends.count == plan.effort.sessions {
      result.status = .pass
    } else {
      result.status = .incomplete
      result.statusReason = ends.isEmpty ? "not measured" : "\(ends.count) of \(plan.effort.sessions) sessions measured"
    }
    if result.status == .pass, let verdict = result.conformance, verdict.result == .fail {
      result.status = .invalid
      result.statusReason = "\(verdict.policy): \(verdict.detail)"
    }
    return result
  }
}
