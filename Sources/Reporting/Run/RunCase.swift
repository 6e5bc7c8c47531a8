public import Measurement

/// One configuration and all that was measured about it.
public struct RunCase: Sendable, Hashable, Codable {
  /// How it ended.
  public enum Status: String, Sendable, Hashable, Codable, CaseIterable {
    /// All samples were taken.
    case pass
    /// All samples may be there, but the configuration's results are wrong: its speed says nothing.
    case invalid
    /// The backend failed.
    case error
    /// The backend's process died.
    case crash
    /// The backend said nothing for too long, and was ended.
    case timeout
    /// It didn't fit into memory.
    case outOfMemory = "oom"
    /// The run was stopped before all samples were taken.
    case incomplete

    /// Whether it's a failure to run.
    public var isFailure: Bool { [.error, .crash, .timeout, .outOfMemory].contains(self) }
  }

  /// What was asked of the backend; nil where it doesn't apply.
  public struct Parameters: Sendable, Hashable, Codable {
    /// Denoising steps.
    @NullEncoded public var steps: Int?
    /// Pixels in a row, of the image that's made or, for text, shown.
    @NullEncoded public var width: Int?
    /// Rows.
    @NullEncoded public var height: Int?
    /// The guidance scale.
    @NullEncoded public var guidance: Double?
    /// The scheduler.
    @NullEncoded public var scheduler: String?
    /// The first sample's seed.
    @NullEncoded public var seed: UInt64?
    /// Images of one request.
    @NullEncoded public var batch: Int?
    /// The most tokens of an answer.
    @NullEncoded public var maxTokens: Int?
    /// What else was set.
    public var settings: CaseSettings

    private enum CodingKeys: String, CodingKey {
      case steps, width, height, guidance, scheduler, seed, batch, settings
      case maxTokens = "max_tokens"
    }

    /// Makes parameters.
    public init(
      steps: Int? = nil, width: Int? = nil, height: Int? = nil, guidance: Double? = nil, scheduler: String? = nil,
      seed: UInt64? = nil, batch: Int? = nil, maxTokens: Int? = nil, engine: EngineSettings = EngineSettings(),
      request: RequestSettings = RequestSettings()
    ) {
      settings = CaseSettings(engine: engine, request: request)
      self.steps = steps
      self.width = width
      self.height = height
      self.guidance = guidance
      self.scheduler = scheduler
      self.seed = seed
      self.batch = batch
      self.maxTokens = maxTokens
    }
  }

  /// Whether this very configuration gives right results.
  public struct Conformance: Sendable, Hashable, Codable {
    /// What was found.
    public enum Result: String, Sendable, Hashable, Codable {
      case pass, fail
      /// Nothing to judge it by; the reason says why.
      case notJudged = "not_judged"
    }

    /// What was found.
    public var result: Result
    /// What it was judged by: `golden:pipelines/sd15/ddim`, `reference-kernels`, `none`.
    public var policy: String
    /// How far it was off, or why it isn't judged.
    public var detail: String

    /// Makes a verdict.
    public init(_ result: Result, policy: String, detail: String) {
      self.result = result
      self.policy = policy
      self.detail = detail
    }
  }

  /// A quantity over all samples.
  public struct Metric: Sendable, Hashable, Codable {
    /// Which way is better.
    public enum Polarity: String, Sendable, Hashable, Codable, CaseIterable {
      case lower, higher, none
    }

    /// What one value is of.
    public enum Scope: String, Sendable, Hashable, Codable, CaseIterable {
      case run, stage, step, token, load
    }

    /// Which quantity.
    public var name: MetricName
    /// Its unit.
    public var unit: MetricUnit
    /// Which way is better.
    public var polarity: Polarity
    /// What one value is of.
    public var scope: Scope
    /// The samples in a few numbers.
    public var summary: Summary
    /// The median of each session that measured it, in the order of sessions: what comparisons are made of.
    public var sessionMedians: [Double]

    private enum CodingKeys: String, CodingKey {
      case name, unit, polarity, scope, summary
      case sessionMedians = "session_medians"
    }

    /// Sums up samples of sessions.
    public init(_ definition: MetricDefinition, sessions: [[Double]]) {
      name = definition.name
      unit = definition.unit
      polarity = definition.polarity
      scope = definition.scope
      sessionMedians = sessions.compactMap { Statistics.median($0) }
      summary = Summary(sessions.flatMap { $0 }, sessionMedians: sessionMedians)
    }

    /// Reads a metric; files without session medians have none.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(MetricName.self, forKey: .name)
      unit = try container.decode(MetricUnit.self, forKey: .unit)
      polarity = try container.decode(Polarity.self, forKey: .polarity)
      scope = try container.decode(Scope.self, forKey: .scope)
      summary = try container.decode(Summary.self, forKey: .summary)
      sessionMedians = try container.decodeIfPresent([Double].self, forKey: .sessionMedians) ?? []
    }
  }

  /// The stable name: `sd15/512x512/pndm/50`.
  public var caseID: String
  /// The name within the plan, before defaults of the model are known.
  public var key: String
  /// The side of an interleaved run that it belongs to.
  @NullEncoded public var side: String?
  /// The subject's id.
  public var subject: String
  /// What was done.
  public var scenario: Scenario
  /// What was asked of the backend.
  public var parameters: Parameters
  /// How it ended.
  public var status: Status
  /// Why it ended so.
  @NullEncoded public var statusReason: String?
  /// Whether this configuration gives right results; nil when it wasn't looked at.
  @NullEncoded public var conformance: Conformance?
  /// The machine that measured it, in merged runs.
  @NullEncoded public var machineID: String?
  /// Operations and bytes of one image, by stage: `unet` is one pass of one image.
  @NullEncoded public var work: [String: StageWork]?
  /// Minute by minute, of the scenario `sustained`.
  @NullEncoded public var sustained: SustainedRecord?
  /// All quantities.
  public var metrics: [Metric]
  /// What was measured, in processes.
  public var sessions: [RunSession]
  /// Files, relative to the run's folder.
  public var artifacts: [String]

  private enum CodingKeys: String, CodingKey {
    case key, side, subject, scenario, parameters, status, conformance, work, sustained, metrics, sessions, artifacts
    case caseID = "case_id"
    case statusReason = "status_reason"
    case machineID = "machine_id"
  }

  /// Makes a case without results.
  public init(
    caseID: String, key: String? = nil, side: String? = nil, subject: String, scenario: Scenario = .single, parameters: Parameters
  ) {
    self.caseID = caseID
    self.key = key ?? caseID
    self.side = nil
    self.subject = subject
    self.scenario = scenario
    self.parameters = parameters
    status = .incomplete
    metrics = []
    sessions = []
    artifacts = []
    self.side = side
  }

  /// The summary of a quantity; nil when it wasn't measured.
  public func summary(_ name: MetricName) -> Summary? { metric(name)?.summary }

  /// A quantity; nil when it wasn't measured.
  public func metric(_ name: MetricName) -> Metric? { metrics.first { $0.name == name } }

  /// The name with its side, where there is one: what tells all cases of a run apart.
  public var displayName: String { side.map { "\(caseID) [\($0)]" } ?? caseID }
}

/// What one pass of a stage computes and moves, counted rather than measured.
public struct StageWork: Sendable, Hashable, Codable {
  /// Floating-point operations.
  public var flop: Double
  /// Bytes of weights and activations that the operators read and write.
  public var bytes: Double

  /// Makes a record.
  public init(flop: Double, bytes: Double) {
    self.flop = flop
    self.bytes = bytes
  }
}

/// How the speed held over minutes.
public struct SustainedRecord: Sendable, Hashable, Codable {
  /// The median request of each minute in ns; nil for a minute without one.
  public var minuteMediansNs: [Double?]
  /// When the requests became slower for good, in ns from the first one; nil when they didn't.
  @NullEncoded public var onsetNs: UInt64?
  /// The last level over the first one, minus 1.
  @NullEncoded public var slowdown: Double?

  private enum CodingKeys: String, CodingKey {
    case slowdown
    case minuteMediansNs = "minute_medians_ns"
    case onsetNs = "onset_ns"
  }

  /// Sums up requests: when each began, from the first one, and how long it took; nil with fewer than 8.
  public init?(_ requests: [(startNs: UInt64, ns: UInt64)]) {
    guard requests.count >= 8, let origin = requests.first?.startNs else { return nil }
    let minutes = Dictionary(grouping: requests) { Int(($0.startNs - min(origin, $0.startNs)) / 60_000_000_000) }
    minuteMediansNs = (0...(minutes.keys.max() ?? 0)).map { minute in
      Statistics.median((minutes[minute] ?? []).map { Double($0.ns) })
    }
    let durations = requests.map { Double($0.ns) }
    let changes = Statistics.levels(durations)
    // Slower for good: the last level lies above the first, and it began there.
    if changes.count > 1, let first = changes.first, let last = changes.last, last.median > first.median * 1.05 {
      let onset = changes.dropFirst().first { $0.median > first.median * 1.05 } ?? last
      onsetNs = requests[onset.start].startNs - origin
      slowdown = last.median / first.median - 1
    } else if let level = changes.first?.median, let last = changes.last?.median, level > 0 {
      slowdown = last / level - 1
    }
  }
}
