import Checkpoints
public import Foundation
public import GenBackend
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
    var rng: String
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

  /// Makes the golden's images with an engine and compares the trace.
  ///
  /// - Parameter fixtures: The folder that the golden's model lies in.
  /// - Returns: How far it's off, in a sentence; nil when the engine returns no trace.
  /// - Throws: ``GoldenMismatch``, and what the engine throws.
  public func run(on backend: any GenBackend, fixtures: URL) async throws -> String? {
    let path = fixtures.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    let trace: [String: Tensor]?
    do {
      trace =
        model.capabilities.contains(.trace)
        ? try await backend.generateImages(request(model: model.id), control: GenerationControl()).trace : nil
    } catch {
      await backend.unload(model.id)
      throw error
    }
    await backend.unload(model.id)
    return try trace.map(compare)
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
    request.scheduler = attributes.scheduler
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
  /// - Throws: ``GoldenMismatch`` that names the first entry that is off, its stage and step, and what agreed before it.
  public func compare(_ trace: [String: Tensor]) throws -> String {
    let names = try golden.tensors().weightNames.filter { !$0.hasPrefix("input.") }.sorted {
      TraceEntry.order($0) < TraceEntry.order($1)
    }
    var last = "nothing before it"
    var worst = 0.0
    for name in names {
      let kind = TraceEntry.kind(of: name)
      guard let tolerance = attributes.tolerances[kind] else {
        throw GoldenMismatch(expected: "a tolerance for \(kind) in the case", seen: "none")
      }
      guard let actual = trace[name] else {
        throw GoldenMismatch(
          expected: "\(name) in the trace", seen: "\(trace.count) entries without it; last that agreed: \(last)")
      }
      let expected = try golden.tensor(name)
      if let mismatch = tolerance.mismatch(actual: actual, expected: expected) {
        throw GoldenMismatch(
          expected: "\(name) as \(golden.origin.tool) has it (\(TraceEntry.stage(of: name)))",
          seen: "the first entry that parts: \(mismatch); last that agreed: \(last)")
      }
      worst = max(worst, Comparison(actual: actual, expected: expected)?.maxRelative ?? 0)
      last = name
    }
    return "\(names.count) entries, worst relative error \(Float(worst))"
  }
}
