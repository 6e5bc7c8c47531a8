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

  /// `D-04`.
  public let id: String
  /// What must hold.
  public let statement: String
  /// How binding it is.
  public let level: Level
  /// Its group.
  public let group: Group
  /// Where it can run; empty when it needs what this machine can't be (``deviceReason``).
  public let environments: Set<EnvironmentKind>
  /// Whether it judges what measures, and not the implementation.
  public let isAboutMetrics: Bool
  /// Why it can't run here at all; nil when it can.
  public let deviceReason: String?
  let judge: @Sendable (AnySubject, CheckLimits) async -> Verdict

  /// The API that it judges.
  public var surface: SurfaceKind { group.surface }

  /// The id.
  public var description: String { id }
}

/// What bounds the run of a check.
struct CheckLimits: Sendable {
  /// How long something may hang before that's called a failure.
  var timeout: Duration
  /// The one race to run of those that checks run by seed; nil runs all.
  var raceSeed: UInt64?
}

/// A check as it's written: of one API, whose context its body is given.
package struct SurfaceCheck<Surface: APISurface>: Sendable {
  /// The check.
  package let check: Check

  /// Makes a check that runs.
  ///
  /// - Parameters:
  ///   - capabilities: What the implementation must be able to do; without it the check is skipped.
  ///   - body: Throws ``CheckFailure`` when the statement doesn't hold, ``CheckSkip`` when it can't be told.
  package init(
    _ id: String, _ statement: String, level: Check.Level, group: Check.Group, environments: Set<EnvironmentKind> = [.scripted],
    needs capabilities: Set<Surface.Implementation.Capability> = [], isAboutMetrics: Bool = false,
    body: @escaping @Sendable (CheckContext<Surface>) async throws -> Void
  ) {
    check = Check(
      id: id, statement: statement, level: level, group: group, environments: environments, isAboutMetrics: isAboutMetrics,
      deviceReason: nil
    ) { subject, limits in
      guard let subject = subject[keyPath: Surface.slot] else {
        return .skip(reason: "about the \(Surface.kind.rawValue) API; judged on implementations of it")
      }
      let context = CheckContext(subject: subject, needs: capabilities, limits: limits)
      let verdict = await context.verdict(body)
      await context.finish()
      return verdict
    }
  }

  /// Makes an entry for a statement that only a device can tell.
  package init(deviceOnly id: String, _ statement: String, level: Check.Level, group: Check.Group, reason: String) {
    check = Check(
      id: id, statement: statement, level: level, group: group, environments: [], isAboutMetrics: false, deviceReason: reason
    ) { _, _ in .skip(reason: reason) }
  }
}
