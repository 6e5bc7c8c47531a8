import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import KernelContract
import Kernels
import Synchronization
import Tensors
import TestSupport
import Testing

/// Whole UNets against diffusers, block by block.
struct UNet2DConditionModelTests {
  struct Attributes: Decodable {
    var config: UNet2DConditionModelConfig?
    var model: String?
    var timestep: Double
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/unet"), KernelChoice.allCases)
  func everyBlock(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let config = try attributes.config ?? #require(attributes.model.map { try UNet2DConditionModelConfig.ofModel($0) })
    let unet = try UNet2DConditionModel(config: config, loader: golden.loader(kernels, folder: attributes.model))

    let (context, observed) = observingContext(kernels)
    var added: UNet2DConditionModel.AddedConditions?
    if config.additionEmbedType == .textTime {
      let sizes = try golden.tensor("input.time_ids")
      added = UNet2DConditionModel.AddedConditions(
        textEmbeds: try golden.tensor("input.text_embeds"),
        timeIDs: (0..<sizes.shape[0]).map { Array(sizes.elements[($0 * 6)..<($0 * 6 + 6)]) })
    }
    let output = try unet(
      golden.tensor("input.sample"), timestep: attributes.timestep,
      encoderHiddenStates: golden.tensor("input.encoder_hidden_states"), added: added, context)
    // The norm before conv_out is part of that block here; whole levels are covered by their parts.
    try golden.expectBlocks(observed) { $0 == "conv_norm_out" || $0 == "mid_block" }
    try golden.expect(output, "output.sample")
  }

  @Test func stopsBetweenBlocks() throws {
    let golden = try #require(try Fixtures.cases(in: "diffusion/unet").first { $0.id.contains("channels-48") })
    let kernels = try makeKernels(.fast)
    let attributes = try golden.attributes(Attributes.self)
    let unet = try UNet2DConditionModel(config: try #require(attributes.config), loader: golden.loader(kernels))
    let token = CancellationToken()
    let observed = Observed()
    let context = ExecutionContext(kernels: kernels, cancellation: token) { name, _ in
      observed.outputs.withLock { $0[name] = Tensor(zeros: [1]) }
      if name == "down_blocks.0.resnets.0" { token.cancel() }
    }
    #expect(throws: CancelledError.self) {
      try unet(
        golden.tensor("input.sample"), timestep: 1, encoderHiddenStates: golden.tensor("input.encoder_hidden_states"), context)
    }
    #expect(observed.outputs.withLock { Set($0.keys) } == ["time_embedding", "conv_in", "down_blocks.0.resnets.0"])
  }
}

extension UNet2DConditionModelConfig {
  static func ofModel(_ folder: String) throws -> UNet2DConditionModelConfig {
    let file = Fixtures.folder.appendingPathComponent(folder).appendingPathComponent("config.json")
    return try JSONDecoder().decode(UNet2DConditionModelConfig.self, from: Data(contentsOf: file))
  }
}
