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
  private func loaded(_ golden: GoldenCase, _ choice: KernelChoice = .fast, precision: String = "f32") async throws -> (
    backend: ReferenceBackend, request: ImageRequest, pipeline: PipelineCase
  ) {
    let (backend, pipeline) = (try makeBackend(choice), try PipelineCase(golden))
    let path = Fixtures.folder.appendingPathComponent(pipeline.model).path
    let model = try await backend.load(LoadRequest(path: path, safety: .off, precision: precision), control: GenerationControl())
    return (backend, try pipeline.request(model: model.id), pipeline)
  }

  private func ddim(_ variant: String) throws -> GoldenCase {
    try #require(try Fixtures.cases(in: "pipelines/\(variant)").first { $0.id.hasSuffix("/ddim") })
  }

  @Test(arguments: try Fixtures.cases(in: "pipelines"))
  func wholeTrajectory(_ golden: GoldenCase) async throws {
    let said = try await PipelineCase(golden).run(on: makeBackend(), fixtures: Fixtures.folder)
    #expect(said?.hasPrefix("\(try golden.tensors().weightNames.count { !$0.hasPrefix("input.") }) entries") == true)
  }

  @Test(arguments: ["sd15", "sd20", "sdxl"])
  func givenNoiseStandsInForTheSeed(_ variant: String) async throws {
    let golden = try ddim(variant)
    var (backend, request, pipeline) = try await loaded(golden, .reference)
    request.seed = request.seed.map { $0 + 1 }
    request.latents = try golden.tensor("input.latents")
    _ = try pipeline.compare(try await backend.generateImages(request, control: GenerationControl()).trace)
  }

  @Test(arguments: ["sd15", "sd20", "sdxl"])
  func bfloat16HasItsOwnBounds(_ variant: String) async throws {
    let golden = try ddim(variant)
    // The reference kernels round as the fast ones do, on every machine.
    let (backend, request, _) = try await loaded(golden, .reference, precision: "bf16")
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
    var (backend, request, _) = try await loaded(try ddim("sd15"))
    request.traceLevel = .block
    let trace = try await backend.generateImages(request, control: GenerationControl()).trace
    let steps = try #require(request.steps)
    for name in ["conv_in", "down_blocks.0.resnets.0", "mid_block.attentions.0", "up_blocks.1.upsamplers.0", "conv_out"] {
      for step in 0..<steps { #expect(trace["\(name).\(step)"] != nil, "\(name).\(step)") }
    }
    #expect(trace["decoder.conv_out.0"] != nil)
    #expect(trace["text_model.encoder.layers.0.0"] != nil)
  }
}
