public import Foundation
import GenBackend
public import Goldens
public import Tensors

extension DiffusionSurface {
  /// An SDK's image generation.
  public typealias Implementation = DiffusionImplementation
  /// An engine that follows a script.
  public typealias TestDouble = any ScriptedImageEngine

  /// How an implementation is made for a check.
  public struct Setup: Sendable {
    /// What a scripted engine does; others needn't look at it.
    public var script = Script()
    /// A compute unit or kernel set of ``Facts/units``; nil is the usual one.
    public var unit: String?
    /// Bytes that a generation may take; nil is the usual limit.
    public var memoryLimit: Int?
    /// Makes the usual setup.
    public init(unit: String? = nil, memoryLimit: Int? = nil) {
      self.unit = unit
      self.memoryLimit = memoryLimit
    }
  }

  /// An engine's models, and what can be seen of it.
  public struct Facts: Sendable {
    /// Model folders by variant.
    public var models: [Variant: String]
    /// Variants whose model has a safety checker.
    public var checkedVariants: Set<Variant>
    /// Variants whose model understands prompts of plain coloured shapes; on others the meaning of pictures isn't judged.
    public var promptedVariants: Set<Variant>
    /// Says in English what a picture of plain shapes shows, by a vision-language model; nil skips the check that asks it.
    public var describe: (@Sendable (Bitmap) async throws -> String)?
    /// Samplers that the engine is tried with.
    public var schedulers = [
      "ddim", "ddpm", "pndm", "lms", "euler", "euler_a", "heun", "dpm2", "dpm2_a", "dpmpp_2m", "dpmpp_2m_sde", "dpmpp_2s",
      "dpmpp_sde", "unipc", "deis", "lcm", "tcd",
    ]
    /// Names of other compute units that must agree with the usual one.
    public var units: [String]
    /// Whether ``Setup/memoryLimit`` is heeded.
    public var canLimitMemory: Bool
    /// Reads the engine's memory; nil skips the checks of memory over an engine that computes.
    public var memory: MemoryMeter?
    /// Its inner parts, for goldens of operators and blocks; nil skips these.
    public var numerics: (any NumericsImplementation)?
    /// The folder with the goldens and their models.
    public var fixtures: URL?
    /// What reports metrics; nil skips the checks of metrics.
    public var metrics: MetricsUnderTest?

    /// Makes facts.
    public init(
      models: [Variant: String], checkedVariants: Set<Variant>,
      promptedVariants: Set<Variant> = Set(Variant.allCases),
      describe: (@Sendable (Bitmap) async throws -> String)? = nil, units: [String] = [], canLimitMemory: Bool = false,
      memory: MemoryMeter? = nil, numerics: (any NumericsImplementation)? = nil, fixtures: URL? = nil,
      metrics: MetricsUnderTest? = nil
    ) {
      self.models = models
      self.checkedVariants = checkedVariants
      self.promptedVariants = promptedVariants
      self.describe = describe
      self.units = units
      self.canLimitMemory = canLimitMemory
      self.memory = memory
      self.numerics = numerics
      self.fixtures = fixtures
      self.metrics = metrics
    }
  }
}
