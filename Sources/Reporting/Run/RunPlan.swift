public import Foundation
import Measurement

/// What a run measures, in all detail and before anything is loaded: the content of `plan.json`.
///
/// Everything a process needs to do its part is in here, so that a run can be cut into shards, resumed, and repeated.
public struct RunPlan: Sendable, Hashable, Codable {
  /// The schema that is written.
  public static let schemaName = "genbench.plan/1"

  /// A set of operators.
  public enum Kernels: String, Sendable, Hashable, Codable, CaseIterable {
    /// SIMD and threads.
    case fast
    /// Plain loops with sums in Double.
    case reference
  }

  /// One of several things that are measured in turns.
  public struct Side: Sendable, Hashable, Codable {
    /// What reports call it.
    public var name: String
    /// Another build of this program that measures it; nil is the running one.
    public var executable: String?
    /// Environment variables of its processes.
    public var environment: [String: String]

    /// Makes a side.
    public init(name: String, executable: String? = nil, environment: [String: String] = [:]) {
      self.name = name
      self.executable = executable
      self.environment = environment
    }
  }

  /// An engine with a model, loaded once for all of its cases.
  public struct Subject: Sendable, Hashable, Codable {
    /// The model's name in reports.
    public var name: String
    /// The folder or file; empty for a full-size model, whose weights are written when it's measured.
    public var path: String
    /// The projector of a vision-language model.
    public var projector: String?
    /// Overrides what the files say.
    public var variant: String?
    /// Whether it's a text model.
    public var isText: Bool
    /// Whether it's a published size with generated weights.
    public var isFullSize: Bool
    /// Whether it's one of the repository's models, for which there are goldens.
    public var isFixture: Bool
    /// The engine: `ref`.
    public var backend: String
    /// The kernel set.
    public var kernels: Kernels?
    /// Worker threads.
    public var threads: Int?
    /// The arithmetic.
    public var precision: String
    /// One component at a time.
    public var reducesMemory: Bool
    /// The place in ``RunPlan/sides``; nil when there are none.
    public var side: Int?

    /// How the engine is set up.
    public var engineSettings: EngineSettings {
      EngineSettings(precision: precision, threads: threads, kernels: kernels, reducesMemory: reducesMemory)
    }

    private enum CodingKeys: String, CodingKey {
      case name, path, projector, variant, backend, kernels, threads, precision, side
      case isText = "is_text"
      case isFullSize = "is_full_size"
      case isFixture = "is_fixture"
      case reducesMemory = "reduces_memory"
    }

    /// Makes a subject.
    public init(name: String, path: String, isText: Bool = false, backend: String = "ref") {
      self.name = name
      self.path = path
      self.isText = isText
      isFullSize = false
      isFixture = false
      self.backend = backend
      precision = "f32"
      reducesMemory = false
    }
  }

  /// One configuration of a subject; nil is the model's own.
  public struct Case: Sendable, Hashable, Codable {
    /// The stable name; unique within a side.
    public var key: String
    /// The place in ``RunPlan/subjects``.
    public var subject: Int
    /// What is done.
    public var scenario: Scenario
    /// What stands behind the case's id: the swept settings that it doesn't tell by itself.
    public var suffix: String
    /// Denoising steps.
    public var steps: Int?
    /// Pixels in a row.
    public var width: Int?
    /// Rows.
    public var height: Int?
    /// The scheduler.
    public var scheduler: String?
    /// The guidance scale.
    public var guidance: Double?
    /// Images of one request.
    public var batch: Int
    /// The most tokens of an answer.
    public var maxTokens: Int?
    /// Settings beyond those above.
    public var settings: RequestSettings

    private enum CodingKeys: String, CodingKey {
      case key, subject, scenario, suffix, steps, width, height, scheduler, guidance, batch, settings
      case maxTokens = "max_tokens"
    }

    /// Makes a case.
    public init(key: String, subject: Int, scenario: Scenario = .single) {
      self.key = key
      self.subject = subject
      self.scenario = scenario
      suffix = ""
      batch = 1
      settings = RequestSettings()
    }
  }

  /// The order of processes.
  public enum Interleaving: String, Sendable, Hashable, Codable, CaseIterable {
    /// All sessions of the first, then all of the second.
    case off
    /// Forward, backward, forward: drift cancels out.
    case abba
    /// A new order for each session, from the seed.
    case random
  }

  /// How long and how often.
  public struct Effort: Sendable, Hashable, Codable {
    /// Fresh processes.
    public var sessions: Int
    /// How often each prompt is measured in a session, at least.
    public var repetitions: Int
    /// Requests before the first that counts.
    public var warmups: Int
    /// Repetitions go on until so much time was measured in a session.
    public var minimumNs: UInt64
    /// Repetitions go on until the interval of the median is within ± this share of it.
    public var untilInterval: Double?
    /// Repetitions never go beyond this.
    public var maximumRepetitions: Int
    /// A pause before each request.
    public var delayNs: UInt64
    /// A process that says nothing for so long is ended.
    public var timeoutNs: UInt64

    private enum CodingKeys: String, CodingKey {
      case sessions, repetitions, warmups
      case minimumNs = "minimum_ns"
      case untilInterval = "until_interval"
      case maximumRepetitions = "maximum_repetitions"
      case delayNs = "delay_ns"
      case timeoutNs = "timeout_ns"
    }

    /// Makes an effort: one session, one repetition.
    public init(sessions: Int = 1, repetitions: Int = 1, warmups: Int = 1) {
      self.sessions = sessions
      self.repetitions = repetitions
      self.warmups = warmups
      minimumNs = 0
      maximumRepetitions = 1000
      delayNs = 0
      timeoutNs = 600_000_000_000
    }
  }

  /// `genbench.plan/1`.
  public var schema: String
  /// Sides; empty when there's one thing to measure.
  public var sides: [Side]
  /// Subjects.
  public var subjects: [Subject]
  /// Cases.
  public var cases: [Case]
  /// How long and how often.
  public var effort: Effort
  /// The order of processes.
  public var interleaving: Interleaving
  /// Of random orders, and of the first prompt.
  public var seed: UInt64
  /// Prompts of image models.
  public var prompts: [String]
  /// Prompts of text models.
  public var questions: [String]
  /// What images shall not show.
  public var negativePrompt: String?
  /// An image for vision-language models; nil draws one.
  public var image: String?
  /// What a configuration's results are judged by.
  public var gate: Gate
  /// Whether images are kept as files.
  public var keepsImages: Bool

  private enum CodingKeys: String, CodingKey {
    case schema, sides, subjects, cases, effort, interleaving, seed, prompts, questions, image, gate
    case negativePrompt = "negative_prompt"
    case keepsImages = "keeps_images"
  }

  /// Makes an empty plan.
  public init() {
    schema = Self.schemaName
    sides = []
    subjects = []
    cases = []
    effort = Effort()
    interleaving = .abba
    seed = 0
    prompts = []
    questions = []
    gate = .auto
    keepsImages = true
  }

  /// The plan as JSON with sorted keys.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// Reads a plan.
  ///
  /// - Throws: ``RunDocumentError`` when it's none, or one of another schema.
  public init(json data: Data) throws(RunDocumentError) {
    do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
      throw RunDocumentError("not a plan: \(error)")
    }
    guard schema == Self.schemaName else {
      throw RunDocumentError("schema: expected \(Self.schemaName), found \(schema)")
    }
    guard cases.allSatisfy({ subjects.indices.contains($0.subject) }),
      subjects.allSatisfy({ $0.side.map(sides.indices.contains) ?? true })
    else { throw RunDocumentError("damaged plan: a case names a subject, or a subject a side, that isn't there") }
  }

  /// Tells plans apart; shards of one plan share it.
  ///
  /// Paths aren't part of it: the same model lies elsewhere on another machine.
  public var hash: String {
    var plain = self
    for index in plain.subjects.indices {
      plain.subjects[index].path = ""
      plain.subjects[index].projector = nil
    }
    for index in plain.sides.indices { plain.sides[index].executable = nil }
    plain.image = nil
    return StableHash.hex(String(decoding: (try? plain.json()) ?? Data(), as: UTF8.self))
  }

  /// The side of a case.
  public func side(of planned: Case) -> String? { subjects[planned.subject].side.map { sides[$0].name } }

  /// Cases that belong together in one part of the plan: all sides of a configuration are measured on one machine.
  ///
  /// Keys are dealt out in the order of their hashes, so that the parts are even and don't depend on the order of options.
  public func keys(ofShard index: Int, of count: Int) -> Set<String> {
    var seen: Set<String> = []
    let keys = cases.map(\.key).filter { seen.insert($0).inserted }
      .sorted { (StableHash.hex($0), $0) < (StableHash.hex($1), $1) }
    return Set(keys.enumerated().filter { $0.offset % count == index - 1 }.map(\.element))
  }

  /// One process of a session: a subject and its cases.
  public struct Unit: Sendable, Hashable {
    /// The session, from 0.
    public var session: Int
    /// The place in ``RunPlan/subjects``.
    public var subject: Int
    /// The keys of its cases, in order.
    public var keys: [String]
  }

  /// All processes in the order in which they run.
  ///
  /// - Parameter keys: The cases that are wanted; nil is all.
  public func units(of keys: Set<String>? = nil) -> [Unit] {
    var random = SplitMix64(seed: seed ^ 0x5eed)
    let wanted = subjects.indices.map { subject in
      cases.filter { $0.subject == subject && (keys?.contains($0.key) ?? true) }.map(\.key)
    }
    let present = subjects.indices.filter { !wanted[$0].isEmpty }
    var units: [Unit] = []
    if interleaving == .off {
      for subject in present {
        for session in 0..<effort.sessions { units.append(Unit(session: session, subject: subject, keys: wanted[subject])) }
      }
      return units
    }
    for session in 0..<effort.sessions {
      var order = present
      if interleaving == .random { order.shuffle(using: &random) } else if session % 2 == 1 { order.reverse() }
      units += order.map { Unit(session: session, subject: $0, keys: wanted[$0]) }
    }
    return units
  }
}
