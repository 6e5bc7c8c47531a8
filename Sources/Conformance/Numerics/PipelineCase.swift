import Checkpoints
import Foundation
public import GenBackend
public import Goldens
public import Tensors

/// A whole trajectory: everything that a trace tells, in the order in which it comes about.
public struct PipelineCase: Sendable {
  private struct Attributes: Decodable, Sendable {
    var model: String
    var prompt: String
    var negative_prompt: String?
    var width: Int
    var height: Int
    var steps: Int
    var guidance_scale: Double
    var guidance_rescale: Double?
    var scheduler: String?
    var seed: UInt64
    var rng: RandomSource
    var strength: Double?
    var tolerances: [String: GoldenCase.Tolerance]
  }

  private let golden: GoldenCase
  private let attributes: Attributes

  /// Takes a golden of the area `pipelines`.
  ///
  /// - Throws: When it lacks something that a request needs.
  public init(_ golden: GoldenCase) throws {
    self.golden = golden
    attributes = try golden.attributes(Attributes.self)
  }

  /// The model's path below the fixtures.
  public var model: String { attributes.model }

  func check(_ context: CheckContext, _ engine: EngineUnderTest) async throws {
    guard let backend = try await context.rig().backend else { throw CheckSkip("the engine doesn't speak GenBackend") }
    guard let fixtures = engine.fixtures else { throw CheckSkip("the folder of the fixtures isn't known") }
    let path = fixtures.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    guard model.capabilities.contains(.trace) else {
      await backend.unload(model.id)
      throw CheckSkip("the engine returns no trace")
    }
    let trace = try await backend.generateImages(request(model: model.id), control: GenerationControl()).trace
    await backend.unload(model.id)
    context.note(try compare(trace))
  }

  /// What the golden was made from, for a loaded model.
  ///
  /// - Throws: `CheckpointError` when its tensors can't be read.
  public func request(model: ModelID) throws -> ImageRequest {
    var request = ImageRequest(model: model, prompt: attributes.prompt)
    request.negativePrompt = attributes.negative_prompt
    request.size = ImageSize(width: attributes.width, height: attributes.height)
    request.steps = attributes.steps
    request.guidanceScale = attributes.guidance_scale
    request.guidanceRescale = attributes.guidance_rescale ?? 0
    request.scheduler = try attributes.scheduler.map { try SchedulerName($0) }
    request.seed = attributes.seed
    request.randomSource = attributes.rng
    request.traceLevel = .step
    let tensors = try golden.tensors()
    if let image = tensors.weight(named: "input.image") {
      request.image = Bitmap(width: image.shape[1], height: image.shape[0], samples: Array(image.bytes)).unitValues
      request.strength = attributes.strength ?? 1
    }
    if let mask = tensors.weight(named: "input.mask") {
      request.mask = Bitmap(width: mask.shape[1], height: mask.shape[0], channels: 1, samples: Array(mask.bytes)).unitValues
    }
    return request
  }

  /// Compares a trace with the golden; how far it's off, in a sentence.
  ///
  /// - Throws: ``CheckFailure`` that names the first entry that is off, its stage and step, and what agreed before it.
  public func compare(_ trace: [String: Tensor]) throws -> String {
    let names = try golden.tensors().weightNames.filter { !$0.hasPrefix("input.") }.sorted { Self.rank($0) < Self.rank($1) }
    var last = "nothing before it"
    var worst = 0.0
    for name in names {
      let kind = Self.kind(of: name)
      guard let tolerance = attributes.tolerances[kind] else {
        throw CheckFailure(expected: "a tolerance for \(kind) in the case", seen: "none")
      }
      guard let actual = trace[name] else {
        throw CheckFailure(expected: "\(name) in the trace", seen: "\(trace.count) entries without it; last that agreed: \(last)")
      }
      let expected = try golden.tensor(name)
      if let mismatch = tolerance.mismatch(actual: actual, expected: expected) {
        throw CheckFailure(
          expected: "\(name) as \(golden.origin.tool) has it (\(Self.stage(of: name)))",
          seen: "the first entry that parts: \(mismatch); last that agreed: \(last)")
      }
      worst = max(worst, Comparison(actual: actual, expected: expected)?.maxRelative ?? 0)
      last = name
    }
    return "\(names.count) entries, worst relative error \(Float(worst))"
  }

  private static func kind(of name: String) -> String {
    if name.hasPrefix("noise_pred.") { return "noise_pred" }
    return name.hasPrefix("latents.") && name != "latents.init" ? "latents" : name
  }

  /// The order in which a pipeline makes its entries.
  public static func rank(_ name: String) -> (Int, Int, String) {
    switch kind(of: name) {
    case "prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds": (0, 0, name)
    case "timesteps": (1, 0, name)
    case "latents.init": (2, 0, name)
    case "noise_pred": (3, step(of: name) * 2, name)
    case "latents": (3, step(of: name) * 2 + 1, name)
    default: (4, 0, name)
    }
  }

  private static func step(of name: String) -> Int { name.split(separator: ".").last.flatMap { Int($0) } ?? 0 }

  /// The part of the pipeline that makes an entry.
  public static func stage(of name: String) -> String {
    switch kind(of: name) {
    case "timesteps": "the scheduler's plan"
    case "latents.init": "the noise, or the start image's latents"
    case "noise_pred": "entry \(step(of: name)): the UNet or the guidance"
    case "latents": "entry \(step(of: name)): the scheduler's step"
    case "image": "the VAE"
    default: "the text encoder"
    }
  }
}
