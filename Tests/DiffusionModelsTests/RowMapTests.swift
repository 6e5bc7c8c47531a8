import Checkpoints
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing

@testable import DiffusionModels

/// Networks that work through their maps in bands of rows.
struct RowMapTests {
  /// From bands of four rows, with everything that can be computed again, to one band.
  static let policies = [
    MapMemory(bandBytes: 1), MapMemory(bandBytes: 1, largestPair: 0), MapMemory(bandBytes: 6000),
    MapMemory(bandBytes: 20_000, largestPair: 30_000), .ample, .scarce,
  ]

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-decode"), policies)
  func decode(_ golden: GoldenCase, _ memory: MapMemory) throws {
    let kernels = try makeKernels(.fast)
    let attributes = try golden.attributes(AutoencoderKLTests.Attributes.self)
    let vae = try AutoencoderKL(
      config: attributes.resolvedConfig(), parts: [.decoder], loader: golden.loader(kernels, folder: attributes.model))
    let (context, observed) = observingContext(kernels)
    let output = try vae.decode(golden.tensor("input.latents"), memory: memory, context)
    try golden.expectBlocks(observed) { $0.hasSuffix("conv_norm_out") || $0.hasSuffix("mid_block") || $0.hasSuffix("quant_conv") }
    try golden.expect(output, "output.sample")
    // Without an observer, who joins the bands, nothing else changes.
    let unobserved = try vae.decode(golden.tensor("input.latents"), memory: memory, ExecutionContext(kernels: kernels))
    #expect(unobserved.elements == output.elements)
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/vae-encode"), policies)
  func encode(_ golden: GoldenCase, _ memory: MapMemory) throws {
    let kernels = try makeKernels(.fast)
    let attributes = try golden.attributes(AutoencoderKLTests.Attributes.self)
    let vae = try AutoencoderKL(
      config: attributes.resolvedConfig(), parts: [.encoder], loader: golden.loader(kernels, folder: attributes.model))
    let posterior = try vae.encode(golden.tensor("input.sample"), memory: memory, ExecutionContext(kernels: kernels))
    try golden.expect(posterior.mean, "output.mean")
    try golden.expect(posterior.logVariance, "output.logvar")
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/resnet"), policies)
  func resnetBlock2D(_ golden: GoldenCase, _ memory: MapMemory) throws {
    let config = try golden.attributes(BlockTests.Config<BlockTests.Resnet>.self).config
    guard config.temb_channels == nil else { return }
    let kernels = try makeKernels(.fast)
    let context = ExecutionContext(kernels: kernels)
    let block = try ResnetBlock2D(
      golden.loader(kernels), inChannels: config.in_channels, outChannels: config.out_channels, timeChannels: nil,
      groupCount: config.groups, epsilon: Float(config.eps))
    let input = try golden.tensor("input.sample").channelsLast()
    let kept = try block(RowMap(input), memory: memory, context)
    try golden.expect(kept.joined(context).channelsFirst(), "output.sample")
    // The same of a map that is computed whenever it's read.
    let recipe = RowMap(shape: input.shape) { _ in
      RowStream(context) { range in Tensor.joinedRows([input], range: range) }
    }
    let computed = try block(recipe, memory: memory, context)
    try golden.expect(computed.joined(context).channelsFirst(), "output.sample")
  }

  /// Any rows of a convolution are the rows of the whole one.
  @Test(arguments: [
    (ConvOptions(padding: 1), false), (ConvOptions(padding: 1), true), (ConvOptions(stride: 2, padding: 1), false),
    (ConvOptions(stride: 2, top: 0, bottom: 1, left: 0, right: 1), false),
  ])
  func rowsOfAConvolution(_ options: ConvOptions, _ enlarges: Bool) throws {
    let context = ExecutionContext(kernels: try makeKernels(.reference))
    var random = TestRandom(seed: 3)
    let input = random.tensor([2, 13, 6, 5])
    var parameters: [String: Tensor] = [:]
    parameters["weight"] = random.tensor([4, 5, 3, 3])
    parameters["bias"] = random.tensor([4])
    let conv = try Conv2d(
      ParameterLoader(FileParameters(TensorSource(parameters)), kernels: context.kernels), inChannels: 5, outChannels: 4,
      kernel: 3, options: options)
    let stage = ConvInputStage(enlarges: enlarges)
    let whole = context.kernels.conv2d(
      input, after: stage, weight: conv.weight, options: options, bias: conv.bias, imageBias: nil, residual: nil)
    for rows in [1, 2, 3, 4, 7, 100] {
      let map = conv.recipe(RowMap(input), after: stage, context)
      #expect(map.shape == whole.shape)
      let source = map.stream(isLast: true, context)
      var parts: [Tensor] = []
      for first in stride(from: 0, to: map.shape[1], by: rows) {
        parts.append(try source.take(first..<min(map.shape[1], first + rows)))
      }
      #expect(Tensor.joinedRows(parts, range: 0..<map.shape[1]).elements == whole.elements, "\(rows) rows at a time")
    }
  }

  /// The last reader of a map lets its bands go as it passes them.
  @Test func bandsGoOneByOne() throws {
    let context = ExecutionContext(kernels: try makeKernels(.reference))
    try BufferPool.withOwnPool { pool in
      let bands = (0..<8).map { Tensor(repeating: Float($0), shape: [1, 4, 64, 64]) }
      let bandBytes = bands[0].count * 4
      let map = RowMap(bands, shape: [1, 32, 64, 64])
      try read(map, context, pool: pool, bandBytes: bandBytes)
    }
  }

  private func read(_ map: RowMap, _ context: ExecutionContext, pool: BufferPool, bandBytes: Int) throws {
    let source = map.stream(isLast: true, context)
    for index in 0..<8 {
      let band = try source.take((4 * index)..<(4 * index + 4))
      #expect(band[flat: 0] == Float(index))
      if index == 7 { #expect(pool.statistics.liveBytes <= 8 * bandBytes) }
    }
  }

  @Test func cancellationStopsBetweenBands() throws {
    let token = CancellationToken()
    let context = ExecutionContext(kernels: try makeKernels(.fast), cancellation: token)
    let map = RowMap(shape: [1, 64, 4, 4]) { _ in
      RowStream(context) { range in
        if range.lowerBound >= 32 { token.cancel() }
        return Tensor(zeros: [1, range.count, 4, 4])
      }
    }
    var bands = 0
    #expect(throws: CancelledError.self) {
      let source = map.stream(isLast: true, context)
      for range in MapMemory(bandBytes: 1).bands(map.shape) {
        _ = try source.take(range)
        bands += 1
      }
    }
    #expect(bands == 9)
  }
}

/// Parameters that a test makes up.
private struct TensorSource: WeightSource {
  let location = "made-up"
  let tensors: [String: Tensor]
  init(_ tensors: [String: Tensor]) { self.tensors = tensors }
  var weightNames: [String] { tensors.keys.sorted() }
  func weight(named name: String) -> WeightView? { tensors[name].map { WeightView(name: name, tensor: $0) } }
}
