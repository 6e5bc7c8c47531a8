import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// Convolutions that normalise, activate and enlarge what they read, and the statistics that they need.
@Suite struct StagedConvolutionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var images = 1
    var height: Int
    var width: Int
    var channels: Int
    var outChannels: Int
    var kernel = 3
    var options = ConvOptions(padding: 1)
    var testDescription: String { "\(images)×\(height)×\(width)×\(channels) → \(outChannels), \(kernel), \(options)" }
  }

  static let cases: [Case] = [
    .init(height: 8, width: 8, channels: 32, outChannels: 32),
    .init(images: 2, height: 13, width: 17, channels: 40, outChannels: 24),
    .init(images: 3, height: 6, width: 5, channels: 19, outChannels: 37),
    .init(height: 9, width: 70, channels: 65, outChannels: 8),
    .init(images: 2, height: 33, width: 34, channels: 16, outChannels: 50),
    .init(height: 5, width: 131, channels: 33, outChannels: 3),
    .init(height: 1, width: 1, channels: 33, outChannels: 20),
    .init(height: 12, width: 12, channels: 4, outChannels: 50),
    .init(height: 10, width: 9, channels: 20, outChannels: 20, options: ConvOptions(padding: 0)),
    .init(
      height: 12, width: 9, channels: 24, outChannels: 17, options: ConvOptions(stride: 1, top: -1, bottom: 0, left: 1, right: -2)
    ),
    .init(images: 2, height: 15, width: 14, channels: 24, outChannels: 31, options: ConvOptions(stride: 2, padding: 1)),
    .init(height: 7, width: 9, channels: 45, outChannels: 33, kernel: 1, options: ConvOptions()),
  ]

  private func factors(images: Int, channels: Int, _ random: inout TestRandom) -> ChannelFactors {
    // Groups of one channel: every channel has factors of its own.
    let means = random.tensor([images * channels]).elements.map(Double.init)
    let squares = random.tensor([images * channels], in: 1...9).elements.map(Double.init)
    return ChannelFactors(
      ChannelStatistics(images: images, channels: channels, count: 4, means: means, squares: squares), groupCount: channels,
      weight: random.tensor([channels]), bias: random.tensor([channels]), epsilon: 1e-5)
  }

  private func expectAgreement(_ set: FastSet, _ shape: Case, seed: UInt64) {
    var random = TestRandom(seed: seed)
    let input = random.tensor([shape.images, shape.height, shape.width, shape.channels])
    let kernel = ConvWeight(
      view: weight(random.tensor([shape.outChannels, shape.channels, shape.kernel, shape.kernel]), as: .f32))
    let bias = random.tensor([shape.outChannels])
    let imageBias = random.tensor([shape.images, shape.outChannels])
    let factors = factors(images: shape.images, channels: shape.channels, &random)
    for (activation, normalizes, enlarges) in [
      (Activation.silu, true, false), (.none, true, false), (.gelu, true, true), (.none, false, true), (.silu, false, false),
    ] {
      let stage = ConvInputStage(factors: normalizes ? factors : nil, activation: activation, enlarges: enlarges)
      let map = stage.outputShape(input.shape)
      let residual = random.tensor([
        shape.images, shape.options.outputHeight(map[1], kernel: shape.kernel),
        shape.options.outputWidth(map[2], kernel: shape.kernel), shape.outChannels,
      ])
      set.expectAgreement(limit: 5e-6, "\(shape), \(activation), normalised: \(normalizes), enlarged: \(enlarges)") {
        $0.conv2d(
          input, after: stage, weight: kernel, options: shape.options, bias: bias, imageBias: imageBias, residual: residual)
      }
    }
  }

  @Test(arguments: FastSet.all, cases)
  func agreesWithTheReference(set: FastSet, shape: Case) { expectAgreement(set, shape, seed: 11) }

  @Test(arguments: FastSet.all)
  func agreesAtRandomShapes(set: FastSet) {
    var random = TestRandom(seed: 12)
    for seed in 0..<12 {
      func number(_ range: ClosedRange<Float>) -> Int { Int(random.tensor([1], in: range)[flat: 0]) }
      expectAgreement(
        set,
        Case(
          images: number(1...3.9), height: number(1...21), width: number(1...45), channels: number(16...90),
          outChannels: number(1...60)),
        seed: UInt64(seed))
    }
  }

  /// Padding is zero after the stage, not before: a map of zeros that the stage makes ones has corners with four neighbours.
  @Test(arguments: FastSet.all, [false, true])
  func paddingStaysZero(set: FastSet, enlarges: Bool) {
    let channels = 16
    let statistics = ChannelStatistics(
      images: 1, channels: channels, count: 1, means: [Double](repeating: 0, count: channels),
      squares: [Double](repeating: 1, count: channels))
    let ones = ChannelFactors(
      statistics, groupCount: 4, weight: Tensor(repeating: 3, shape: [channels]), bias: Tensor(repeating: 1, shape: [channels]),
      epsilon: 0)
    let kernel = ConvWeight(view: weight(Tensor(repeating: 1, shape: [20, channels, 3, 3]), as: .f32))
    let result = set.two.conv2d(
      Tensor(zeros: [1, 8, 10, channels]), after: ConvInputStage(factors: ones, enlarges: enlarges), weight: kernel,
      options: ConvOptions(padding: 1), bias: nil, imageBias: nil, residual: nil)
    let (height, width) = (result.shape[1], result.shape[2])
    #expect(height == (enlarges ? 16 : 8) && width == (enlarges ? 20 : 10))
    for y in 0..<height {
      for x in 0..<width {
        let neighbours = (y == 0 || y == height - 1 ? 2 : 3) * (x == 0 || x == width - 1 ? 2 : 3)
        let value = result[flat: (y * width + x) * 20]
        #expect(abs(value - Float(neighbours * channels)) < 1e-3, "pixel \(x), \(y): \(value)")
      }
    }
  }

  @Test(arguments: FastSet.all)
  func nanComesThrough(set: FastSet) {
    var random = TestRandom(seed: 13)
    var input = random.tensor([1, 8, 8, 32])
    input[flat: (3 * 8 + 3) * 32 + 5] = .nan
    let kernel = ConvWeight(view: weight(random.tensor([32, 32, 3, 3]), as: .f32))
    let result = set.two.conv2d(
      input, after: ConvInputStage(factors: factors(images: 1, channels: 32, &random), activation: .silu), weight: kernel,
      options: ConvOptions(padding: 1), bias: nil, imageBias: nil, residual: nil)
    #expect(result[flat: (3 * 8 + 3) * 32].isNaN)
    let statistics = set.two.channelStatistics(input)
    #expect(statistics.means[5].isNaN && statistics.squares[5].isNaN && !statistics.means[4].isNaN)
  }

  // MARK: - Statistics

  @Test(
    arguments: FastSet.all,
    [(1, 1, 1, 1), (2, 5, 6, 3), (1, 64, 64, 32), (3, 100, 7, 80), (2, 9, 37, 130), (1, 1, 1, 320), (2, 41, 100, 20)])
  func statistics(set: FastSet, shape: (images: Int, height: Int, width: Int, channels: Int)) {
    var random = TestRandom(seed: 14)
    let input = random.tensor([shape.images, shape.height, shape.width, shape.channels], in: 3...8)
    let expected = ReferenceKernels().channelStatistics(input)
    #expect(expected.count == shape.height * shape.width)
    for kernels in set.kernels {
      let actual = kernels.channelStatistics(input)
      #expect(actual == set.two.channelStatistics(input), "the same for every thread count")
      #expect(actual.count == expected.count)
      for index in expected.means.indices {
        #expect(abs(actual.means[index] - expected.means[index]) < 1e-5)
        #expect(abs(actual.squares[index] - expected.squares[index]) < 1e-5 * (expected.squares[index] + 1))
      }
    }
  }

  @Test func partsJoinToTheWhole() {
    var random = TestRandom(seed: 15)
    let (images, height) = (2, 11)
    let parts = [1, 4, 6].map { random.tensor([images, $0, 5, 12], in: 100...103) }
    let whole = Tensor.joinedRows(parts, range: 0..<height)
    let expected = ReferenceKernels().channelStatistics(whole)
    var joined = ReferenceKernels().channelStatistics(parts[0])
    for part in parts.dropFirst() { joined.join(ReferenceKernels().channelStatistics(part)) }
    joined.join(
      ChannelStatistics(
        images: images, channels: 12, count: 0, means: [Double](repeating: .nan, count: 24),
        squares: [Double](repeating: .nan, count: 24)))
    #expect(joined.count == expected.count)
    for index in expected.means.indices {
      #expect(abs(joined.means[index] - expected.means[index]) < 1e-12)
      #expect(abs(joined.squares[index] / expected.squares[index] - 1) < 1e-10)
    }
    let weight = random.tensor([12])
    let factors = ChannelFactors(joined, groupCount: 3, weight: weight, bias: weight, epsilon: 1e-6)
    let byParts = ReferenceKernels().normalize(whole, by: factors, activation: .silu)
    let atOnce = ReferenceKernels().groupNorm(
      whole, groupCount: 3, weight: weight, bias: weight, epsilon: 1e-6, activation: .silu)
    #expect(GoldenTolerance.relative(2e-6)(byParts, atOnce) == nil)
  }

  // MARK: - Rows

  @Test(arguments: FastSet.all)
  func rowsAreJoined(set: FastSet) {
    var random = TestRandom(seed: 16)
    let whole = random.tensor([2, 19, 3, 5])
    func rows(_ range: Range<Int>) -> Tensor { Tensor.joinedRows([whole], range: range) }
    let parts = [rows(0..<4), rows(4..<5), rows(5..<12), rows(12..<19)]
    for range in [0..<19, 3..<6, 4..<5, 11..<19, 7..<7] {
      for kernels in set.kernels as [any KernelSet] + [ReferenceKernels()] {
        let joined = kernels.joinRows(parts, range: range)
        #expect(joined.shape == [2, range.count, 3, 5])
        var expected: [Float] = []
        for image in 0..<2 {
          expected += whole.elements[((image * 19 + range.lowerBound) * 15)..<((image * 19 + range.upperBound) * 15)]
        }
        #expect(joined.elements == expected)
      }
    }
  }
}
