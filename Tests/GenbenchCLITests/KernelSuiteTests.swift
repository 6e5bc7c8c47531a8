import DiffusionModels
import Foundation
import KernelContract
import Kernels
import Testing

@testable import GenbenchCLI

/// `genbench run --suite kernels`.
struct KernelSuiteTests {
  static let shapes: [OperatorShape] = [
    .linear(rows: 9, depth: 33, columns: 5),
    .conv2d(
      images: 2, height: 5, width: 6, channels: 3, outChannels: 4, kernelHeight: 3, kernelWidth: 3,
      options: ConvOptions(stride: 2, padding: 1)),
    .groupNorm(images: 1, pixels: 7, channels: 8, groups: 2, activation: .silu), .layerNorm(rows: 3, width: 5),
    .attention(batch: 1, queries: 5, keys: 7, heads: 2, headWidth: 4, isCausal: false),
    .attention(batch: 1, queries: 5, keys: 7, heads: 2, headWidth: 4, isCausal: true), .geglu(rows: 3, width: 5),
    .gatedLinear(rows: 11, depth: 6, columns: 5, activation: .gelu),
    .activate(.quickGelu, count: 11), .add(count: 11), .concatenate(rows: 3, widths: [4, 5]),
    .upsample(images: 1, height: 3, width: 2, channels: 5),
    .stagedConv2d(
      images: 2, height: 5, width: 6, channels: 20, outChannels: 4, kernelHeight: 3, kernelWidth: 3,
      options: ConvOptions(padding: 1), normalizes: true, activation: .silu, enlarges: false),
    .stagedConv2d(
      images: 1, height: 5, width: 6, channels: 20, outChannels: 4, kernelHeight: 3, kernelWidth: 3,
      options: ConvOptions(padding: 1), normalizes: false, activation: .none, enlarges: true),
    .channelStatistics(images: 2, pixels: 7, channels: 9), .joinRows(images: 2, rows: 5, width: 3, channels: 4),
  ]

  /// Whatever the inventory can note, the benchmark runs at the same shape.
  @Test(arguments: shapes)
  func everyOperatorRunsAtItsShape(_ shape: OperatorShape) throws {
    let inventory = OperatorInventory()
    let times = OperatorBenchmark(kernels: inventory, leastTimeNs: 0).measure(shape)
    #expect(times.count == 2)
    #expect(inventory.operators.map(\.shape) == [shape] && inventory.operators.map(\.count) == [3])
    let fast = try KernelFactory.make(.fast, threads: 2)
    #expect(OperatorBenchmark(kernels: fast, leastTimeNs: 0).measure(shape).allSatisfy { $0 > 0 })
    #expect(shape.bytesMoved > 0)
  }

  @Test func thePeakIsMeasured() throws {
    let fast = try KernelFactory.make(.fast, threads: 1)
    let peak = try #require((fast as? any PeakMeasurable)?.floatingPointPeak())
    #expect(peak > 0 && peak.isFinite)
  }

  @Test(arguments: [
    (["--variant", "smolvlm"], "sd15, sd20, sdxl"), (["--size", "100x100"], "multiples of 64"),
    (["--size", "64x64,128x64"], "one --size"), (["--precision", "f16"], "f32 or bf16"), (["--threads", "1,2"], "one --threads"),
  ])
  func whatCannotBeIsAUsageError(words: [String], expected: String) async {
    let result = await genbench(["run", "--suite", "kernels", "--out", "/nowhere/at/all"] + words)
    #expect(result.status.code == 64)
    #expect(result.err.contains(expected), "\(result.err)")
  }
}
