public import GenBackend
public import Measurement

/// What one process measured of a case.
public struct RunSession: Sendable, Hashable, Codable {
  /// One request.
  public struct Sample: Sendable, Hashable, Codable {
    /// Its place among the samples of the session.
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
    /// Between the end of the request before and the start of this one.
    @NullEncoded public var idleNs: UInt64?
    /// What the safety checker said.
    @NullEncoded public var safety: String?
    /// The image, relative to the run's folder.
    @NullEncoded public var image: String?
    /// The answer of a text model.
    @NullEncoded public var text: TextSample?
    /// A load in a process that had the files already, of the scenario `warm`.
    @NullEncoded public var loadNs: UInt64?
    /// From the cancellation to the return, of the scenario `cancel`.
    @NullEncoded public var cancelNs: UInt64?
    /// Images of the request.
    public var images: Int

    private enum CodingKeys: String, CodingKey {
      case index, prompt, repetition, seed, safety, image, images, text
      case startNs = "start_ns"
      case e2eNs = "e2e_ns"
      case stagesNs = "stages_ns"
      case stepsNs = "steps_ns"
      case stepPartsNs = "step_parts_ns"
      case unaccountedNs = "unaccounted_ns"
      case idleNs = "idle_ns"
      case loadNs = "load_ns"
      case cancelNs = "cancel_ns"
    }

    /// Takes a request's budget.
    public init(
      index: Int, prompt: String, repetition: Int, seed: UInt64, startNs: UInt64, budget: TimeBudget, safety: String? = nil,
      image: String? = nil, images: Int = 1
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
      self.images = images
      self.safety = safety
      self.image = image
    }

    /// Reads a sample; older files have one image a sample.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      index = try container.decode(Int.self, forKey: .index)
      prompt = try container.decode(String.self, forKey: .prompt)
      repetition = try container.decode(Int.self, forKey: .repetition)
      seed = try container.decode(UInt64.self, forKey: .seed)
      startNs = try container.decode(UInt64.self, forKey: .startNs)
      e2eNs = try container.decode(UInt64.self, forKey: .e2eNs)
      stagesNs = try container.decode([String: UInt64].self, forKey: .stagesNs)
      stepsNs = try container.decode([UInt64].self, forKey: .stepsNs)
      stepPartsNs = try container.decode([String: [UInt64]].self, forKey: .stepPartsNs)
      unaccountedNs = try container.decode(UInt64.self, forKey: .unaccountedNs)
      images = try container.decodeIfPresent(Int.self, forKey: .images) ?? 1
      _idleNs = try container.decode(NullEncoded<UInt64>.self, forKey: .idleNs)
      _safety = try container.decode(NullEncoded<String>.self, forKey: .safety)
      _image = try container.decode(NullEncoded<String>.self, forKey: .image)
      _text = try container.decode(NullEncoded<TextSample>.self, forKey: .text)
      _loadNs = try container.decode(NullEncoded<UInt64>.self, forKey: .loadNs)
      _cancelNs = try container.decode(NullEncoded<UInt64>.self, forKey: .cancelNs)
    }
  }

  /// The answer of a text model and when its tokens came.
  public struct TextSample: Sendable, Hashable, Codable {
    /// Tokens of the prompt, those of the image included.
    public var promptTokens: Int
    /// Tokens of the answer.
    public var newTokens: Int
    /// From the request to the first token.
    @NullEncoded public var ttftNs: UInt64?
    /// From each token to the next one.
    public var tokensNs: [UInt64]
    /// Prompt tokens over the time of the stage `prefill` alone.
    @NullEncoded public var prefillTokensPerSecond: Double?
    /// Tokens after the first over the time after the first.
    @NullEncoded public var decodeTokensPerSecond: Double?
    /// Why it ended: `stop`, `length`.
    public var finishReason: String
    /// The answer.
    public var answer: String

    private enum CodingKeys: String, CodingKey {
      case answer
      case promptTokens = "prompt_tokens"
      case newTokens = "new_tokens"
      case ttftNs = "ttft_ns"
      case tokensNs = "tokens_ns"
      case prefillTokensPerSecond = "prefill_tokens_per_s"
      case decodeTokensPerSecond = "decode_tokens_per_s"
      case finishReason = "finish_reason"
    }

    /// Takes a result and the times of its tokens as they arrived here.
    public init(_ result: TextResult, times: TokenTimes) {
      promptTokens = result.promptIDs.count
      newTokens = result.ids.count
      tokensNs = times.gapsNs
      finishReason = result.finishReason.rawValue
      answer = result.text
      ttftNs = times.firstNs
      prefillTokensPerSecond = result.prefillTokensPerSecond
      decodeTokensPerSecond = result.decodeTokensPerSecond
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

    /// The longest time between two readings; nil with fewer than two.
    ///
    /// Readings are taken by a thread of their own, so that a long gap is a stop of the whole process.
    public var longestGapNs: UInt64? { zip(tNs.dropFirst(), tNs).map { $0 - min($1, $0) }.max() }

    /// The stage during which the resident set was largest, and that size; nil when nothing was measured.
    ///
    /// - Parameter samples: The requests of the session; a step is named with its number.
    public func peak(in samples: [Sample]) -> (stage: String, bytes: UInt64)? {
      let known = zip(tNs, rssBytes).compactMap { time, bytes in bytes.map { (time, $0) } }
      guard let (time, bytes) = known.max(by: { $0.1 < $1.1 }) else { return nil }
      for sample in samples where time >= sample.startNs && time < sample.startNs + sample.e2eNs {
        return (sample.stage(at: time - sample.startNs) ?? "between stages", bytes)
      }
      return (samples.first.map { time < $0.startNs } ?? true ? "load" : "between requests", bytes)
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
    /// How often the first core was slowed down by heat in between.
    @NullEncoded public var throttled: UInt64?

    private enum CodingKeys: String, CodingKey {
      case start, end, throttled
      case stealPercent = "steal_pct"
    }

    /// Pairs two looks.
    public init(start: Conditions, end: Conditions) {
      self.start = start
      self.end = end
      stealPercent = end.stealPercent(since: start)
      throttled = end.throttledTimes(since: start)
    }
  }

  /// From 0.
  public var session: Int
  /// Its place among all processes of the run.
  public var order: Int
  /// The process; the last one, when the session was resumed.
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
  /// The largest resident size.
  @NullEncoded public var peakBytes: UInt64?
  /// The resident size before anything was loaded.
  @NullEncoded public var baselineBytes: UInt64?
  /// What the harness itself costs a request, measured on a backend that does nothing.
  @NullEncoded public var overheadNs: UInt64?
  /// The machine before and after.
  @NullEncoded public var conditions: ConditionsPair?

  private enum CodingKeys: String, CodingKey {
    case session, order, pid, samples, memory, conditions
    case startedAt = "started_at"
    case loadNs = "load_ns"
    case warmupNs = "warmup_ns"
    case peakBytes = "peak_bytes"
    case baselineBytes = "baseline_bytes"
    case overheadNs = "overhead_ns"
  }

  /// Makes a session without samples.
  public init(session: Int = 0, order: Int = 0, pid: Int32, startedAt: String, loadNs: UInt64?) {
    self.session = session
    self.order = order
    self.pid = pid
    self.startedAt = startedAt
    warmupNs = []
    samples = []
    self.loadNs = loadNs
  }

  /// Reads a session; older files don't tell the order.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(Int.self, forKey: .session)
    order = try container.decodeIfPresent(Int.self, forKey: .order) ?? 0
    pid = try container.decode(Int32.self, forKey: .pid)
    startedAt = try container.decode(String.self, forKey: .startedAt)
    warmupNs = try container.decode([UInt64].self, forKey: .warmupNs)
    samples = try container.decode([Sample].self, forKey: .samples)
    _loadNs = try container.decode(NullEncoded<UInt64>.self, forKey: .loadNs)
    _memory = try container.decode(NullEncoded<MemoryTimeline>.self, forKey: .memory)
    _peakBytes = try container.decode(NullEncoded<UInt64>.self, forKey: .peakBytes)
    _baselineBytes = try container.decode(NullEncoded<UInt64>.self, forKey: .baselineBytes)
    _overheadNs = try container.decode(NullEncoded<UInt64>.self, forKey: .overheadNs)
    _conditions = try container.decode(NullEncoded<ConditionsPair>.self, forKey: .conditions)
  }
}

extension RunSession.Sample {
  /// The order in which stages follow each other in a request.
  static let stageOrder = [
    "load", "plan", "tokenize", "image_preprocess", "vision_encode", "projector", "text_encode", "latents", "image_encode",
    "prefill",
    "step", "decode", "vae_decode", "safety", "png",
  ]

  /// The stages in the order in which they run; unknown ones behind, by name.
  public var orderedStages: [(name: String, ns: UInt64)] {
    stagesNs.sorted { Self.rank($0.key) < Self.rank($1.key) }.map { (name: $0.key, ns: $0.value) }
  }

  private static func rank(_ name: String) -> (Int, String) { (stageOrder.firstIndex(of: name) ?? stageOrder.count, name) }

  /// The stage that runs at a time after the request's start, as far as durations tell; steps with their number from 1.
  func stage(at ns: UInt64) -> String? {
    var end: UInt64 = 0
    for stage in orderedStages {
      if stage.name == "step", !stepsNs.isEmpty {
        for (index, step) in stepsNs.enumerated() {
          end += step
          if ns < end { return "step \(index + 1)" }
        }
      } else {
        end += stage.ns
        if ns < end { return stage.name }
      }
    }
    return nil
  }
}
