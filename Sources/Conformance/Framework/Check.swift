/// A statement about an implementation that can be tried.
///
/// A check is a value: its id is the same in the catalogue, in `swift test`, on the command line and in every report.
public struct Check: Sendable, CustomStringConvertible {
  /// How binding a statement is.
  public enum Level: String, Sendable, Hashable, Codable, CaseIterable {
    /// The documentation says so.
    case normative
    /// It follows from what the documentation says.
    case derived
    /// Only code, headers or interface definitions say so.
    case contract
    /// Drawn from defect reports; the documentation is silent.
    case recommended
  }

  /// The groups of the catalogue.
  public enum Group: String, Sendable, Hashable, Codable, CaseIterable {
    /// Diffusion.
    case diffusion = "D"
    /// Vision-language models.
    case vision = "V"
    /// Registering, downloading, storing and deleting models.
    case models = "M"
    /// Image Playground and ImageCreator.
    case playground = "P"
    /// TSAI image generation.
    case tsai = "T"
    /// Metrics and what concerns every system.
    case cross = "X"
    /// Whether pictures show what prompts say.
    case semantics = "S"
    /// Numbers against goldens.
    case numerics

    /// The API that its checks judge.
    public var surface: SurfaceKind {
      switch self {
      case .diffusion, .cross, .semantics, .numerics: .diffusion
      case .vision: .vision
      case .models: .registry
      case .playground: .playground
      case .tsai: .tsai
      }
    }
  }

  /// The kinds of surroundings that a check can run in.
  public enum World: String, Sendable, Hashable, Codable, CaseIterable {
    /// Over an engine that follows a script.
    case scripted
    /// Over an engine that computes.
    case engine
  }

  /// `D-04`.
  public let id: String
  /// What must hold.
  public let statement: String
  /// How binding it is.
  public let level: Level
  /// Its group.
  public let group: Group
  /// Where it can run; empty when it needs what this machine can't be (``deviceReason``).
  public let worlds: Set<World>
  /// What the implementation must be able to do; without it the check is skipped.
  public let capabilities: Set<Surface.Capability>
  /// Whether it judges what measures, and not the implementation.
  public let isAboutMetrics: Bool
  /// Why it can't run here at all; nil when it can.
  public let deviceReason: String?
  let body: @Sendable (CheckContext) async throws -> Void

  /// Makes a check that runs.
  ///
  /// - Parameter body: Throws ``CheckFailure`` when the statement doesn't hold, ``CheckSkip`` when it can't be told.
  public init(
    _ id: String, _ statement: String, level: Level, group: Group, worlds: Set<World> = [.scripted],
    needs capabilities: Set<Surface.Capability> = [], isAboutMetrics: Bool = false,
    body: @escaping @Sendable (CheckContext) async throws -> Void
  ) {
    self.id = id
    self.statement = statement
    self.level = level
    self.group = group
    self.worlds = worlds
    self.capabilities = capabilities
    self.isAboutMetrics = isAboutMetrics
    deviceReason = nil
    self.body = body
  }

  /// Makes an entry for a statement that only a device can tell.
  public init(deviceOnly id: String, _ statement: String, level: Level, group: Group, reason: String) {
    self.id = id
    self.statement = statement
    self.level = level
    self.group = group
    worlds = []
    capabilities = []
    isAboutMetrics = false
    deviceReason = reason
    body = { _ in throw CheckSkip(reason) }
  }

  /// The API that it judges.
  public var surface: SurfaceKind { group.surface }

  /// The id.
  public var description: String { id }
}
