import Checkpoints
import Foundation
import GenBackend
import Goldens
import Kernels
import ReferenceEngine
import Tensors
import TestSupport
import Testing

/// Whole pipelines against diffusers: embeddings, every prediction, every step's latents, the image.
struct PipelineGoldenTests {
  struct Attributes: Decodable {
    var model: String
    var prompt: String
    var negative_prompt: String?
    var width: Int
    var height: Int
    var steps: Int
    var guidance_scale: Double
    var guidance_rescale: Double
    var scheduler: String?
    var seed: UInt64
    var rng: RandomSource
    var strength: Double?
    var tolerances: [String: GoldenCase.Tolerance]
  }

  private func request(_ attributes: Attributes, golden: GoldenCase, model: ModelID) throws -> ImageRequest {
    var request = ImageRequest(model: model, prompt: attributes.prompt)
    request.negativePrompt = attributes.negative_prompt
    request.size = ImageSize(width: attributes.width, height: attributes.height)
    request.steps = attributes.steps
    request.guidanceScale = attributes.guidance_scale
    request.guidanceRescale = attributes.guidance_rescale
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

  /// Everything in the golden file but its inputs must be in the trace, and equal.
  private func compare(_ trace: [String: Tensor], _ golden: GoldenCase, _ tolerances: [String: GoldenCase.Tolerance]) throws {
    for name in try golden.tensors().weightNames where !name.hasPrefix("input.") {
      let actual = try #require(trace[name], "the trace lacks \(name)")
      let kind =
        name.hasPrefix("noise_pred.")
        ? "noise_pred" : name == "latents.init" ? name : name.hasPrefix("latents.") ? "latents" : name
      let tolerance = try #require(tolerances[kind], "no tolerance for \(kind)")
      let mismatch = tolerance.mismatch(actual: actual, expected: try golden.tensor(name))
      #expect(mismatch == nil, "\(name)")
    }
  }

  @Test(arguments: try Fixtures.cases(in: "pipelines"))
  func wholeTrajectory(_ golden: GoldenCase) async throws {
    let attributes = try golden.attributes(Attributes.self)
    let backend = try makeBackend()
    let path = Fixtures.folder.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    let request = try request(attributes, golden: golden, model: model.id)
    let result = try await backend.generateImages(request, control: GenerationControl())
    try compare(result.trace, golden, attributes.tolerances)
    #expect(Set(result.trace.keys).isSuperset(of: ["image", "latents.init", "timesteps", "prompt_embeds"]))
  }

  @Test(arguments: ["sd15", "sd20", "sdxl"])
  func givenNoiseStandsInForTheSeed(_ variant: String) async throws {
    let golden = try #require(try Fixtures.cases(in: "pipelines/\(variant)").first { $0.id.hasSuffix("/ddim") })
    let attributes = try golden.attributes(Attributes.self)
    let backend = try makeBackend(.reference)
    let path = Fixtures.folder.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    var request = try request(attributes, golden: golden, model: model.id)
    request.seed = attributes.seed + 1
    request.latents = try golden.tensor("input.latents")
    let result = try await backend.generateImages(request, control: GenerationControl())
    try compare(result.trace, golden, attributes.tolerances)
  }

  @Test(arguments: ["sd15", "sd20", "sdxl"])
  func bfloat16HasItsOwnBounds(_ variant: String) async throws {
    let golden = try #require(try Fixtures.cases(in: "pipelines/\(variant)").first { $0.id.hasSuffix("/ddim") })
    let attributes = try golden.attributes(Attributes.self)
    // The reference kernels round as the fast ones do, on every machine.
    let backend = try makeBackend(.reference)
    let path = Fixtures.folder.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off, precision: .bf16), control: GenerationControl())
    let request = try request(attributes, golden: golden, model: model.id)
    let trace = try await backend.generateImages(request, control: GenerationControl()).trace
    let bound = GoldenCase.Tolerance(
      metric: .relative, limit: 0.03, reason: "2⁻⁹ a factor, averaged over each sum, through some fifty layers a step")
    let exact = GoldenCase.Tolerance(metric: .relative, limit: 1e-4, reason: "must not be met: the arithmetic is another one")
    let image = try #require(trace["image"])
    let picture = GoldenCase.Tolerance(metric: .psnrDb, limit: 30, reason: "no difference that an eye would find")
    let mismatch = picture.mismatch(actual: image, expected: try golden.tensor("image"))
    #expect(mismatch == nil, "\(mismatch ?? "")")
    let embeddings = try #require(trace["prompt_embeds"])
    #expect(bound.mismatch(actual: embeddings, expected: try golden.tensor("prompt_embeds")) == nil)
    #expect(exact.mismatch(actual: embeddings, expected: try golden.tensor("prompt_embeds")) != nil)
  }

  @Test func blockTracesHoldEveryBlock() async throws {
    let golden = try #require(try Fixtures.cases(in: "pipelines/sd15").first { $0.id.hasSuffix("/ddim") })
    let attributes = try golden.attributes(Attributes.self)
    let backend = try makeBackend()
    let path = Fixtures.folder.appendingPathComponent(attributes.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off), control: GenerationControl())
    var request = try request(attributes, golden: golden, model: model.id)
    request.traceLevel = .block
    let trace = try await backend.generateImages(request, control: GenerationControl()).trace
    for name in ["conv_in", "down_blocks.0.resnets.0", "mid_block.attentions.0", "up_blocks.1.upsamplers.0", "conv_out"] {
      for step in 0..<attributes.steps { #expect(trace["\(name).\(step)"] != nil, "\(name).\(step)") }
    }
    #expect(trace["decoder.conv_out.0"] != nil)
    #expect(trace["text_model.encoder.layers.0.0"] != nil)
  }
}
