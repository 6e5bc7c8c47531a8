import Checkpoints
import DiffusionModels
import KernelContract
import ReferenceEngine
import Tensors
import Testing

/// The plans of the published models against the figures of diffusers (parameter counts, torch's FLOP counter).
struct ModelPlanTests {
  @Test(arguments: [
    (DiffusionVariant.sd15, 859_520_964, 686, 512, 803.3e9, 83_653_863, 2514e9, 123_060_480),
    (.sd20, 865_910_724, 686, 768, 2149.1e9, 83_653_863, 5754e9, 340_387_840),
    (.sdxl, 2_567_463_684, 1680, 1024, 6761.2e9, 83_653_863, 10470e9, 123_060_480),
  ])
  func countsWhatDiffusersCounts(
    _ variant: DiffusionVariant, _ unetParameters: Int, _ unetTensors: Int, _ side: Int, _ unetOperations: Double,
    _ vaeParameters: Int, _ decodeOperations: Double, _ textParameters: Int
  ) throws {
    let plan = try ModelPlan(architecture: DiffusionArchitecture(fullSize: variant), width: side, height: side)
    let unet = try #require(plan["unet"])
    #expect(unet.parameterCount == unetParameters)
    #expect(unet.parameters.count == unetTensors)
    #expect(abs(unet.floatingPointOperations / unetOperations - 1) < 0.01)
    let vae = try #require(plan["vae"])
    #expect(vae.parameterCount == vaeParameters)
    #expect(vae.parameters.count == 248)
    #expect(abs(vae.floatingPointOperations / decodeOperations - 1) < 0.01)
    #expect(plan["text_encoder"]?.parameterCount == textParameters)
    if variant == .sdxl { #expect(plan["text_encoder_2"]?.parameterCount == 694_659_840) }
  }

  @Test func separateGuidanceHalvesAndTilesNeedLess() throws {
    let architecture = try DiffusionArchitecture(fullSize: .sd15)
    let whole = try ModelPlan(architecture: architecture, width: 768, height: 768)
    let reduced = try ModelPlan(
      architecture: architecture, width: 768, height: 768, guidanceBatch: 1, tiling: TilingOptions(latentSize: 64))
    #expect(try #require(reduced["unet"]).peakActivationBytes < #require(whole["unet"]).peakActivationBytes)
    #expect(try #require(reduced["vae"]).peakActivationBytes < #require(whole["vae"]).peakActivationBytes)
  }

  /// The goals for an image of 512 × 512 pixels.
  @Test func stableDiffusionAt512FitsInto450Megabytes() throws {
    let architecture = try DiffusionArchitecture(fullSize: .sd15)
    let whole = try ModelPlan(architecture: architecture, width: 512, height: 512)
    #expect(whole.peakAnonymousBytes <= 450_000_000)
    let reduced = try ModelPlan(
      architecture: architecture, width: 512, height: 512, guidanceBatch: 1, tiling: TilingOptions(latentSize: 64))
    #expect(reduced.peakAnonymousBytes <= 300_000_000)
    // The price of the latter: the last level's larger maps are computed again.
    let decoding = try #require(whole["vae"]).floatingPointOperations
    let again = try #require(reduced["vae"]).floatingPointOperations / decoding
    #expect(again > 1.2 && again < 1.35)
  }

  @Test(arguments: DiffusionVariant.allCases)
  func theOperatorsAreAllOfThePlan(_ variant: DiffusionVariant) throws {
    let plan = try ModelPlan(
      architecture: DiffusionArchitecture(fullSize: variant), width: 256, height: 256, guidanceBatch: 1)
    for component in plan.components {
      let counted = component.operators.reduce(0.0) { $0 + Double($1.count) * $1.shape.floatingPointOperations }
      #expect(abs(counted / component.floatingPointOperations - 1) < 1e-9, "\(component.name)")
      #expect(Set(component.operators.map(\.shape)).count == component.operators.count)
    }
    let unet = try #require(plan["unet"])
    let first = OperatorShape.conv2d(
      images: 1, height: 32, width: 32, channels: 4, outChannels: 320, kernelHeight: 3, kernelWidth: 3,
      options: ConvOptions(padding: 1))
    #expect(unet.operators.first { $0.shape == first }?.count == 1)
    #expect(first.floatingPointOperations == 2 * 32 * 32 * 9 * 4 * 320)
    #expect(first.bytesMoved == 4 * 32 * 32 * 324 + 2 * 9 * 4 * 320)
    #expect(first.summary == "1×32×32×4 → 320, 3×3")
  }
}
