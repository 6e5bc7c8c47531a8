/// An implementation in its environment: the subject under test, a column of the result.
public struct Subject<Surface: APISurface>: Sendable {
  /// The implementation's name, as in files of known failures.
  public var name: String
  /// Its version.
  public var version: String
  /// What it stands on.
  public var environment: Environment<Surface>

  /// Makes a subject.
  public init(name: String, version: String, environment: Environment<Surface>) {
    self.name = name
    self.version = version
    self.environment = environment
  }
}

/// What implementations of an API stand on, and how they're made anew for each check.
public struct Environment<Surface: APISurface>: Sendable {
  /// An implementation, and the test double below it.
  public struct Instance: Sendable {
    /// The implementation.
    public var implementation: Surface.Implementation
    /// The test double; nil over an engine that computes.
    public var testDouble: Surface.TestDouble?
    /// Makes an instance.
    public init(_ implementation: Surface.Implementation, over testDouble: Surface.TestDouble? = nil) {
      self.implementation = implementation
      self.testDouble = testDouble
    }
  }

  /// Makes a fresh instance; a test double notes in the log what it sees.
  public typealias Make = @Sendable (Surface.Setup, EvidenceLog) async throws -> Instance

  /// `script`, or the engine's name: for headings.
  public var name: String
  /// Which checks can run in it.
  public var kind: EnvironmentKind
  /// What it offers beside implementations.
  public var facts: Surface.Facts
  /// Makes a fresh instance.
  public var make: Make

  /// Makes an environment.
  public init(_ name: String, kind: EnvironmentKind = .engine, facts: Surface.Facts, make: @escaping Make) {
    self.name = name
    self.kind = kind
    self.facts = facts
    self.make = make
  }
}

extension Environment where Surface.Facts == NoFacts {
  /// Makes an environment that has nothing to say.
  public init(_ name: String, kind: EnvironmentKind = .engine, make: @escaping Make) {
    self.init(name, kind: kind, facts: NoFacts(), make: make)
  }
}

/// The kinds of environment that a check can run in.
public enum EnvironmentKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Over a test double that follows a script.
  case scripted
  /// Over an engine that computes.
  case engine
}
