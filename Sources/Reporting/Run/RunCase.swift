public import Measurement

/// One configuration and all that was measured about it.
public struct RunCase: Sendable, Hashable, Codable {
  /// How it ended.
  public enum Status: String, Sendable, Hashable, Codable {
    /// All samples were taken.
    case pass
    /// The backend failed.
    case error
    /// It didn't fit into memory.
    case outOfMemory = "oom"
    /// The run was stopped before all samples were taken.
    case incomplete
  }

  /// What was asked of the backend.
  public struct Parameters: Sendable, Hashable, Codable {
    /// Denoising steps.
    public var steps: Int
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The guidance scale.
    @NullEncoded public var guidance: Double?
    /// The scheduler.
    public var scheduler: String
    /// The first sample's seed.
    public var seed: UInt64

    /// Makes parameters.
    public init(steps: Int, width: Int, height: Int, guidance: Double?, scheduler: String, seed: UInt64) {
      self.steps = steps
      self.width = width
      self.height = height
      self.guidance = guidance
      self.scheduler = scheduler
      self.seed = seed
    }
  }

  /// A quantity over all samples.
  public struct Metric: Sendable, Hashable, Codable {
    /// Which way is better.
    public enum Polarity: String, Sendable, Hashable, Codable {
      case lower, higher, none
    }

    /// `e2e_ns`, `step_ns`, `peak_rss_bytes`.
    public var name: String
    /// `ns`, `bytes`, `1/s`.
    public var unit: String
    /// Which way is better.
    public var polarity: Polarity
    /// `run`, `stage`, `step`, `load`.
    public var scope: String
    /// The samples in a few numbers.
    public var summary: Summary

    /// Sums up samples.
    public init(name: String, unit: String, polarity: Polarity = .lower, scope: String, values: [Double]) {
      self.name = name
      self.unit = unit
      self.polarity = polarity
      self.scope = scope
      summary = Summary(values)
    }
  }

  /// The stable name: `sd15/512x512/pndm/50`.
  public var caseID: String
  /// The subject's id.
  public var subject: String
  /// `single`: one request after the other.
  public var scenario: String
  /// What was asked of the backend.
  public var parameters: Parameters
  /// How it ended.
  public var status: Status
  /// Why it ended so.
  @NullEncoded public var statusReason: String?
  /// What conformance said of this configuration; nil is "not judged".
  @NullEncoded public var conformance: String?
  /// All quantities.
  public var metrics: [Metric]
  /// What was measured, in processes.
  public var sessions: [RunSession]
  /// Files, relative to the run's folder.
  public var artifacts: [String]

  private enum CodingKeys: String, CodingKey {
    case subject, scenario, parameters, status, conformance, metrics, sessions, artifacts
    case caseID = "case_id"
    case statusReason = "status_reason"
  }

  /// Makes a case without results.
  public init(caseID: String, subject: String, scenario: String = "single", parameters: Parameters) {
    self.caseID = caseID
    self.subject = subject
    self.scenario = scenario
    self.parameters = parameters
    status = .incomplete
    metrics = []
    sessions = []
    artifacts = []
  }

  /// The summary of a quantity; nil when it wasn't measured.
  public func summary(_ name: String) -> Summary? { metrics.first { $0.name == name }?.summary }
}

/// What one process measured of a case.
public struct RunSession: Sendable, Hashable, Codable {
  /// One image.
  public struct Sample: Sendable, Hashable, Codable {
    /// Its place among all samples of the case.
    public var index: Int
    /// The prompt.
    public var prompt: String
    /// The repetition, from 0.
    public var repetition: Int
    /// The seed.
    public var seed: UInt64
    /// From the session's start.
    public var startNs: UInt64
    /// The whole request with writing the file.
    public var e2eNs: UInt64
    /// By stage; they and `unaccountedNs` sum to `e2eNs`.
    public var stagesNs: [String: UInt64]
    /// Each step.
    public var stepsNs: [UInt64]
    /// Within the steps, by stage.
    public var stepPartsNs: [String: [UInt64]]
    /// What is in no stage.
    public var unaccountedNs: UInt64
    /// What the safety checker said.
    public var safety: String
    /// The image, relative to the run's folder.
    @NullEncoded public var image: String?

    private enum CodingKeys: String, CodingKey {
      case index, prompt, repetition, seed, safety, image
      case startNs = "start_ns"
      case e2eNs = "e2e_ns"
      case stagesNs = "stages_ns"
      case stepsNs = "steps_ns"
      case stepPartsNs = "step_parts_ns"
      case unaccountedNs = "unaccounted_ns"
    }

    /// Takes a request's budget.
    public init(
      index: Int, prompt: String, repetition: Int, seed: UInt64, startNs: UInt64, budget: TimeBudget, safety: String,
      image: String?
    ) {
      self.index = index
      self.prompt = prompt
      self.repetition = repetition
      self.seed = seed
      self.startNs = startNs
      e2eNs = budget.totalNs
      stagesNs = budget.stagesNs
      stepsNs = budget.steps.map(\.ns)
      stepPartsNs = [:]
      for name in Set(budget.steps.flatMap(\.partsNs.keys)) {
        stepPartsNs[name] = budget.steps.map { $0.partsNs[name] ?? 0 }
      }
      unaccountedNs = budget.unaccountedNs
      self.safety = safety
      self.image = image
    }
  }

  /// Memory over time, one entry a reading.
  public struct MemoryTimeline: Sendable, Hashable, Codable {
    /// From the session's start.
    public var tNs: [UInt64]
    /// Resident.
    public var rssBytes: [UInt64?]
    /// Resident and of no file.
    public var anonymousBytes: [UInt64?]
    /// Resident and of mapped files.
    public var mappedBytes: [UInt64?]

    private enum CodingKeys: String, CodingKey {
      case tNs = "t_ns"
      case rssBytes = "rss_bytes"
      case anonymousBytes = "anonymous_bytes"
      case mappedBytes = "mapped_bytes"
    }

    /// Takes readings; earlier ones than the start are left out.
    public init(_ samples: [MemorySampler.Sample], startNs: UInt64) {
      let samples = samples.filter { $0.timeNs >= startNs }
      tNs = samples.map { $0.timeNs - startNs }
      rssBytes = samples.map(\.reading.residentBytes)
      anonymousBytes = samples.map(\.reading.anonymousBytes)
      mappedBytes = samples.map(\.reading.mappedBytes)
    }
  }

  /// The machine before and after.
  public struct ConditionsPair: Sendable, Hashable, Codable {
    /// Before.
    public var start: Conditions
    /// After.
    public var end: Conditions
    /// Percent of the time in between that the host took away.
    @NullEncoded public var stealPercent: Double?

    private enum CodingKeys: String, CodingKey {
      case start, end
      case stealPercent = "steal_pct"
    }

    /// Pairs two looks.
    public init(start: Conditions, end: Conditions) {
      self.start = start
      self.end = end
      stealPercent = end.stealPercent(since: start)
    }
  }

  /// From 0.
  public var session: Int
  /// The process.
  public var pid: Int32
  /// When it began, RFC 3339 in UTC.
  public var startedAt: String
  /// The load that came before, when it belongs to this case.
  @NullEncoded public var loadNs: UInt64?
  /// Whole requests that weren't counted.
  public var warmupNs: [UInt64]
  /// The requests that were.
  public var samples: [Sample]
  /// Memory over time.
  @NullEncoded public var memory: MemoryTimeline?
  /// The machine before and after.
  @NullEncoded public var conditions: ConditionsPair?

  private enum CodingKeys: String, CodingKey {
    case session, pid, samples, memory, conditions
    case startedAt = "started_at"
    case loadNs = "load_ns"
    case warmupNs = "warmup_ns"
  }

  /// Makes a session without samples.
  public init(session: Int = 0, pid: Int32, startedAt: String, loadNs: UInt64?) {
    self.session = session
    self.pid = pid
    self.startedAt = startedAt
    self.loadNs = loadNs
    warmupNs = []
    samples = []
  }
}
