import Tensors
import Testing

@testable import Reporting

@Suite struct TraceDiffTests {
  private func trace() -> [String: Tensor] {
    var trace: [String: Tensor] = [:]
    let names = [
      "prompt_embeds", "timesteps", "latents.init", "noise_pred.0", "latents.0", "noise_pred.1", "latents.1", "noise_pred.10",
      "latents.10",
      "image", "text_model.encoder.layers.0.0", "conv_in.0", "down_blocks.0.resnets.0.0", "down_blocks.0.attentions.0.0",
      "down_blocks.0.downsamplers.0.0", "down_blocks.1.resnets.0.0", "mid_block.resnets.0.0", "up_blocks.0.resnets.0.0",
      "conv_out.0",
      "conv_in.1", "decoder.mid_block.resnets.0.0", "decoder.up_blocks.0.resnets.1.0", "post_quant_conv.0",
    ]
    var random = SystemRandomNumberGenerator()
    for name in names {
      trace[name] = Tensor((0..<16).map { _ in Float.random(in: -1...1, using: &random) }, shape: [1, 4, 2, 2])
    }
    return trace
  }

  @Test func entriesComeInTheOrderOfTheirMaking() {
    let order = TraceDiff(trace(), trace()).entries.map(\.name)
    let wanted = [
      "text_model.encoder.layers.0.0", "prompt_embeds", "timesteps", "latents.init", "conv_in.0", "down_blocks.0.resnets.0.0",
      "down_blocks.0.attentions.0.0", "down_blocks.0.downsamplers.0.0", "down_blocks.1.resnets.0.0", "mid_block.resnets.0.0",
      "up_blocks.0.resnets.0.0", "conv_out.0", "noise_pred.0", "latents.0", "conv_in.1", "noise_pred.1", "latents.1",
      "noise_pred.10",
      "latents.10", "post_quant_conv.0", "decoder.mid_block.resnets.0.0", "decoder.up_blocks.0.resnets.1.0", "image",
    ]
    #expect(order == wanted)
  }

  @Test func equalTracesAgree() {
    let trace = trace()
    #expect(TraceDiff(trace, trace).firstOff(0) == nil)
  }

  @Test func theFirstPlaceIsFoundWhateverComesAfter() throws {
    let first = trace()
    var second = first
    for name in ["down_blocks.1.resnets.0.0", "noise_pred.0", "latents.1", "image"] {
      var elements = first[name]?.elements ?? []
      elements[3] += 0.5
      second[name] = Tensor(elements, shape: [1, 4, 2, 2])
    }
    let off = try #require(TraceDiff(first, second).firstOff(1e-3))
    #expect(off.name == "down_blocks.1.resnets.0.0" && off.step == 0)
    #expect(off.stage == "entry 0: the UNet, block down_blocks.1.resnets.0 (residual block)")
    #expect(TraceDiff(first, second).firstOff(1e6) == nil)
  }

  @Test func shapesAndNaNAreNeverEqual() throws {
    let first = trace()
    var second = first
    second["image"] = Tensor(zeros: [1, 4, 2, 1])
    #expect(TraceDiff(first, second).firstOff(1e9)?.shapes == "[1, 4, 2, 2] and [1, 4, 2, 1]")
    second = first
    second["latents.0"] = Tensor([Float](repeating: .nan, count: 16), shape: [1, 4, 2, 2])
    #expect(TraceDiff(first, second).firstOff(1e9)?.name == "latents.0")
  }

  @Test func entriesOfOneAloneAreTold() {
    let first = trace()
    var second = first
    second["image"] = nil
    second["extra"] = Tensor(zeros: [1])
    let diff = TraceDiff(first, second)
    #expect(diff.onlyFirst == ["image"] && diff.onlySecond == ["extra"])
  }
}
