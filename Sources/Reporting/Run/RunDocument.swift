public import Measurement

/// A whole measurement: the content of `run.json`, schema `genbench.run/1`.
///
/// Times are whole nanoseconds, sizes bytes, `null` is "not measured".
public struct RunDocument: Sendable, Hashable, Codable {
  /// The schema that is written.
  public static let schemaName = "genbench.run/1"

  /// The program that measured.
  public struct Tool: Sendable, Hashable, Codable {
    /// `genbench`.
    public var name: String
    /// Its version.
    public var version: String
    /// The commit that it was built from.
    @NullEncoded public var commit: String?
    /// Whether its sources had changes that weren't committed.
    @NullEncoded public var dirty: Bool?
    /// How it was built.
    public var build: BuildRecord

    /// Makes a record.
    public init(name: String, version: String, commit: String?, dirty: Bool?, build: BuildRecord) {
      self.name = name
      self.version = version
      self.commit = commit
      self.dirty = dirty
      self.build = build
    }
  }

  /// How the run ended.
  public struct Exit: Sendable, Hashable, Codable {
    /// The exit code.
    public var code: Int32
    /// Why.
    @NullEncoded public var reason: String?

    /// Makes a record.
    public init(code: Int32, reason: String?) {
      self.code = code
      self.reason = reason
    }
  }

  /// The part of a plan that was measured here.
  public struct Shard: Sendable, Hashable, Codable {
    /// From 1.
    public var index: Int
    /// How many parts there are.
    public var count: Int

    /// Makes a part.
    public init(index: Int, count: Int) {
      self.index = index
      self.count = count
    }
  }

  /// A run that was merged into this one.
  public struct Parent: Sendable, Hashable, Codable {
    /// Its id.
    public var runID: String
    /// Its part of the plan.
    @NullEncoded public var shard: Shard?
    /// Its machine.
    public var environment: EnvironmentRecord

    private enum CodingKeys: String, CodingKey {
      case shard, environment
      case runID = "run_id"
    }

    /// Makes a record.
    public init(runID: String, shard: Shard?, environment: EnvironmentRecord) {
      self.runID = runID
      self.environment = environment
      self.shard = shard
    }
  }

  /// Whether all that was planned was done.
  public enum Status: String, Sendable, Hashable, Codable {
    case complete
    case incomplete
  }

  /// `genbench.run/1`.
  public var schema: String
  /// A UUID of version 7: sorted by time.
  public var runID: String
  /// When it began, RFC 3339 in UTC.
  public var createdAt: String
  /// Whether all that was planned was done.
  public var status: Status
  /// The program that measured.
  public var tool: Tool
  /// The words of the command line.
  public var command: [String]
  /// Settings with what they came to.
  public var config: [String: String]
  /// Whatever the user wants to remember.
  public var labels: [String: String]
  /// How it ended.
  public var exit: Exit
  /// The machine.
  public var environment: EnvironmentRecord
  /// The plan's hash: shards of one plan share it.
  @NullEncoded public var planHash: String?
  /// The part of the plan that was measured; nil is all of it.
  @NullEncoded public var shard: Shard?
  /// The runs that this one was merged from.
  public var parents: [Parent]
  /// Faults that were put into the kernels on purpose: such a run says nothing about the engine.
  public var faults: [String]
  /// What somebody who reads the numbers should know.
  public var warnings: [String]
  /// What was measured.
  public var subjects: [RunSubject]
  /// The measurements.
  public var cases: [RunCase]

  private enum CodingKeys: String, CodingKey {
    case schema, status, tool, command, config, labels, exit, environment, shard, parents, faults, warnings, subjects, cases
    case runID = "run_id"
    case createdAt = "created_at"
    case planHash = "plan_hash"
  }

  /// Reads a document; keys that came later may be absent.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    schema = try container.decode(String.self, forKey: .schema)
    runID = try container.decode(String.self, forKey: .runID)
    createdAt = try container.decode(String.self, forKey: .createdAt)
    status = try container.decode(Status.self, forKey: .status)
    tool = try container.decode(Tool.self, forKey: .tool)
    command = try container.decode([String].self, forKey: .command)
    config = try container.decode([String: String].self, forKey: .config)
    labels = try container.decode([String: String].self, forKey: .labels)
    exit = try container.decode(Exit.self, forKey: .exit)
    environment = try container.decode(EnvironmentRecord.self, forKey: .environment)
    parents = try container.decodeIfPresent([Parent].self, forKey: .parents) ?? []
    faults = try container.decodeIfPresent([String].self, forKey: .faults) ?? []
    warnings = try container.decodeIfPresent([String].self, forKey: .warnings) ?? []
    subjects = try container.decode([RunSubject].self, forKey: .subjects)
    cases = try container.decode([RunCase].self, forKey: .cases)
    _planHash = try container.decode(NullEncoded<String>.self, forKey: .planHash)
    _shard = try container.decode(NullEncoded<Shard>.self, forKey: .shard)
  }

  /// Makes a document without cases.
  public init(
    runID: String, createdAt: String, tool: Tool, command: [String], config: [String: String], labels: [String: String] = [:],
    environment: EnvironmentRecord
  ) {
    schema = Self.schemaName
    self.runID = runID
    self.createdAt = createdAt
    status = .incomplete
    self.tool = tool
    self.command = command
    self.config = config
    self.labels = labels
    exit = Exit(code: 9, reason: "not finished")
    self.environment = environment
    parents = []
    faults = []
    warnings = []
    subjects = []
    cases = []
  }

  /// The sides of an interleaved run, in the order of their first cases.
  public var sides: [String] {
    var sides: [String] = []
    for side in cases.compactMap(\.side) where !sides.contains(side) { sides.append(side) }
    return sides
  }

  /// The cases of one side alone, as a run without sides.
  public func side(_ name: String) -> RunDocument {
    var run = self
    run.cases = cases.filter { $0.side == name }
    for index in run.cases.indices { run.cases[index].side = nil }
    let ids = Set(run.cases.map(\.subject))
    run.subjects = subjects.filter { ids.contains($0.id) }
    // A fault of the other side isn't this one's.
    run.faults = Array(Set(run.subjects.compactMap { $0.backend.details["fault"] })).sorted()
    return run
  }

  /// The machine that measured a case.
  public func environment(of runCase: RunCase) -> EnvironmentRecord {
    guard let id = runCase.machineID else { return environment }
    return parents.first { $0.environment.machineID == id }?.environment ?? environment
  }

  /// The run without single samples, as baselines are: session medians, summaries, the machine.
  public var stripped: RunDocument {
    var run = self
    for index in run.cases.indices {
      run.cases[index].artifacts = []
      for place in run.cases[index].sessions.indices {
        run.cases[index].sessions[place].samples = []
        run.cases[index].sessions[place].memory = nil
      }
    }
    return run
  }
}

/// An engine with a loaded model.
public struct RunSubject: Sendable, Hashable, Codable {
  /// The engine.
  public struct Backend: Sendable, Hashable, Codable {
    /// How it was named: `ref`.
    public var kind: String
    /// What it calls itself.
    public var name: String
    /// Its version.
    public var version: String
    /// What it can do.
    public var capabilities: [String]
    /// What else it says: kernel set, instruction set, threads.
    public var details: [String: String]

    /// Makes a record.
    public init(kind: String, name: String, version: String, capabilities: [String], details: [String: String]) {
      self.kind = kind
      self.name = name
      self.version = version
      self.capabilities = capabilities
      self.details = details
    }
  }

  /// The model.
  public struct Model: Sendable, Hashable, Codable {
    /// `sd15`, `sd20`, `sdxl`.
    public var family: String
    /// The file's or folder's name.
    public var name: String
    /// Weights.
    public var params: Int
    /// Their bytes.
    public var bytes: Int
    /// The arithmetic: `f32`, `bf16`.
    public var precision: String

    /// Makes a record.
    public init(family: String, name: String, params: Int, bytes: Int, precision: String) {
      self.family = family
      self.name = name
      self.params = params
      self.bytes = bytes
      self.precision = precision
    }
  }

  /// What cases name it by.
  public var id: String
  /// The engine.
  public var backend: Backend
  /// The model.
  public var model: Model
  /// How it was set up.
  public var settings: [String: String]

  /// Makes a record.
  public init(id: String, backend: Backend, model: Model, settings: [String: String]) {
    self.id = id
    self.backend = backend
    self.model = model
    self.settings = settings
  }
}
