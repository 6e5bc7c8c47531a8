import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing

/// The VAE in both directions and in tiles against diffusers.
struct AutoencoderKLTests {
  struct Attributes: Decodable {
    var config: AutoencoderKLConfig?
    var model: String?
    var tile_latent_min_size: Int?
    var tile_overlap_factor: Double?

    func resolvedConfig() throws -> AutoencoderKLConfig {
      if let config { return config }
      let file = Fixtures.folder.appendingPathComponent(try #require(model)).appendingPathComponent("config.json")
      return try JSONDecoder().decode(AutoencoderKLConfig.self, from: Data(contentsOf: file))
    }
  }

  /// Outputs that diffusers' hooks see and that are part of a larger block here.
  private static func isInner(_ name: String) -> Bool {
    name.hasSuffix("conv_norm_out") || name.hasSuffix("mid_block") || name.hasSuffix("quant_conv")
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-decode"), KernelChoice.allCases)
  func decode(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let vae = try AutoencoderKL(
      config: attributes.resolvedConfig(), parts: [.decoder], loader: golden.loader(kernels, folder: attributes.model))
    let (context, observed) = observingContext(kernels)
    let output = try vae.decode(golden.tensor("input.latents"), context)
    try golden.expectBlocks(observed, ignoring: Self.isInner)
    try golden.expect(output, "output.sample")
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-encode"), KernelChoice.allCases)
  func encode(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let vae = try AutoencoderKL(
      config: attributes.resolvedConfig(), parts: [.encoder], loader: golden.loader(kernels, folder: attributes.model))
    let (context, observed) = observingContext(kernels)
    let posterior = try vae.encode(golden.tensor("input.sample"), context)
    try golden.expectBlocks(observed, ignoring: Self.isInner)
    try golden.expect(posterior.mean, "output.mean")
    try golden.expect(posterior.logVariance, "output.logvar")
    let ones = Tensor(repeating: 1, shape: posterior.mean.shape)
    let deviation = posterior.sample(noise: ones).zip(posterior.mean, -)
    let zeroMeanDeviation = try golden.tensor("output.std")
    let comparison = try #require(Comparison(actual: deviation, expected: zeroMeanDeviation))
    #expect(comparison.maxRelative < 1e-3, "mean plus deviation minus mean cancels; worst \(comparison)")
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-tiled"), KernelChoice.allCases)
  func tiled(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let vae = try AutoencoderKL(config: attributes.resolvedConfig(), parts: [.decoder], loader: golden.loader(kernels))
    let tiling = TilingOptions(
      latentSize: try #require(attributes.tile_latent_min_size), overlap: try #require(attributes.tile_overlap_factor))
    let output = try vae.decodeTiled(golden.tensor("input.latents"), tiling: tiling, ExecutionContext(kernels: kernels))
    try golden.expect(output, "output.sample")
  }
}
