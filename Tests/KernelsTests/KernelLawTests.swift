import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// Closed forms and laws that need no oracle; the reference and the fast sets must obey them alike.
@Suite struct KernelLawTests {
  static let names = ["reference"] + FastSet.all.map(\.instructionSet.rawValue)

  private func kernels(_ name: String) throws -> any KernelSet {
    name == "reference" ? ReferenceKernels() : try #require(FastSet.all.first { $0.instructionSet.rawValue == name }).two
  }

  @Test(arguments: names)
  func identityMatrixAndBias(name: String) throws {
    var random = TestRandom(seed: 30)
    let input = random.tensor([19, 33])
    let identity = Tensor((0..<(33 * 33)).map { $0 % 34 == 0 ? 1 : 0 }, shape: [33, 33])
    let bias = random.tensor([33])
    let result = try kernels(name).linear(input, weight: LinearWeight(view: WeightView(name: "i", tensor: identity)), bias: bias)
    let expected = input.elements.enumerated().map { $0.element + bias[flat: $0.offset % 33] }
    #expect(result.elements == expected)
  }

  /// A kernel that is 1 in the middle for its own channel gives back its input; off the middle, the shifted input.
  @Test(arguments: names, [0, 1, 2])
  func deltaKernelShifts(name: String, tap: Int) throws {
    var random = TestRandom(seed: 31)
    let (height, width, channels) = (11, 14, 24)
    let input = random.tensor([1, height, width, channels])
    var delta = [Float](repeating: 0, count: channels * channels * 9)
    for channel in 0..<channels { delta[(channel * channels + channel) * 9 + 3 + tap] = 1 }
    let view = WeightView(name: "delta", tensor: Tensor(delta, shape: [channels, channels, 3, 3]))
    let result = try kernels(name).conv2d(input, weight: ConvWeight(view: view), options: ConvOptions(padding: 1))
    var expected = [Float]()
    for y in 0..<height {
      for x in 0..<width {
        let source = x + tap - 1
        for channel in 0..<channels {
          expected.append(source >= 0 && source < width ? input[flat: (y * width + source) * channels + channel] : 0)
        }
      }
    }
    let mismatch = GoldenTolerance.relative(2e-6)(result, Tensor(expected, shape: input.shape))
    #expect(mismatch == nil, "\(mismatch ?? "")")
  }

  /// Equal keys get equal weights: the result is the mean of the values.
  @Test(arguments: names, [2, 60])
  func equalKeysAverageValues(name: String, queries: Int) throws {
    var random = TestRandom(seed: 32)
    let keys = 301
    let query = random.tensor([1, queries, 24])
    let key = Tensor(repeating: 0.7, shape: [1, keys, 24])
    let value = random.tensor([1, keys, 24])
    let result = try kernels(name).attention(
      query: query, key: key, value: value, options: AttentionOptions(headCount: 1, scale: 0.2))
    for column in 0..<24 {
      let mean = (0..<keys).reduce(0.0) { $0 + Double(value[flat: $1 * 24 + column]) } / Double(keys)
      for row in 0..<queries { #expect(abs(Double(result[flat: row * 24 + column]) - mean) < 1e-6) }
    }
  }

  /// One key that beats all others by far gives its value, even where `exp` of the raw scores would overflow.
  @Test(arguments: names, [1, 50])
  func aDominantKeyWins(name: String, queries: Int) throws {
    var random = TestRandom(seed: 33)
    let value = random.tensor([1, 250, 8])
    var keys = [Float](repeating: 0, count: 250 * 8)
    for column in 0..<8 { keys[201 * 8 + column] = 50 }
    let result = try kernels(name).attention(
      query: Tensor(repeating: 50, shape: [1, queries, 8]), key: Tensor(keys, shape: [1, 250, 8]), value: value,
      options: AttentionOptions(headCount: 1, scale: 1))
    let expected = value.slice(0..<1).elements[(201 * 8)..<(202 * 8)]
    for row in 0..<queries { #expect(result.elements[(row * 8)..<(row * 8 + 8)] == expected) }
  }

  /// Keys that the mask hides don't matter, whatever they hold.
  @Test(arguments: names, [3, 55])
  func hiddenKeysDoNotMatter(name: String, queries: Int) throws {
    var random = TestRandom(seed: 34)
    let query = random.tensor([1, queries, 32])
    let (key, value) = (random.tensor([1, queries, 32]), random.tensor([1, queries, 32]))
    let options = AttentionOptions(headCount: 2, scale: 0.25, causalOffset: 0)
    let whole = try kernels(name).attention(query: query, key: key, value: value, options: options)
    let known = queries - 1
    func cut(_ tensor: Tensor) -> Tensor {
      tensor.reshaped(to: [queries, 32]).slice(0..<known).reshaped(to: [1, known, 32])
    }
    let part = try kernels(name).attention(query: cut(query), key: cut(key), value: cut(value), options: options)
    let mismatch = GoldenTolerance.relative(1e-6)(part, cut(whole))
    #expect(mismatch == nil, "\(mismatch ?? "")")
  }

  @Test(arguments: names)
  func normalizedGroupsHaveNoMeanAndUnitVariance(name: String) throws {
    var random = TestRandom(seed: 35)
    let result = try kernels(name).groupNorm(
      random.tensor([2, 9, 8, 12], in: -3...9), groupCount: 4, weight: Tensor(repeating: 1, shape: [12]),
      bias: Tensor(zeros: [12]), epsilon: 0, activation: .none)
    for image in 0..<2 {
      for group in 0..<4 {
        let values = (0..<(72 * 3)).map { Double(result[flat: (image * 72 + $0 / 3) * 12 + group * 3 + $0 % 3]) }
        let mean = values.reduce(0, +) / Double(values.count)
        let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
        #expect(abs(mean) < 1e-6 && abs(variance - 1) < 1e-5)
      }
    }
  }

  @Test(arguments: names)
  func notANumberIsNeverHidden(name: String) throws {
    let kernels = try kernels(name)
    for rows in [1, 30] {
      var input = Tensor(repeating: 1, shape: [rows, 16])
      input[flat: 3] = .nan
      let matrix = LinearWeight(view: WeightView(name: "w", tensor: Tensor(repeating: 0, shape: [9, 16])))
      #expect(kernels.linear(input, weight: matrix).elements.prefix(9).allSatisfy { $0.isNaN })
      #expect(
        kernels.layerNorm(input, weight: Tensor(repeating: 1, shape: [16]), bias: Tensor(zeros: [16]), epsilon: 1e-5)
          .elements.prefix(16).allSatisfy { $0.isNaN })
      let sequence = input.reshaped(to: [1, rows, 16])
      let options = AttentionOptions(headCount: 1, scale: 1)
      let attended = kernels.attention(query: sequence, key: sequence, value: sequence, options: options)
      #expect(attended.elements.allSatisfy { $0.isNaN }, "a NaN key reaches every query")
    }
    var image = Tensor(repeating: 1, shape: [1, 8, 8, 16])
    image[flat: 0] = .nan
    let kernel = ConvWeight(view: WeightView(name: "w", tensor: Tensor(repeating: 1, shape: [16, 16, 3, 3])))
    #expect(kernels.conv2d(image, weight: kernel, options: ConvOptions(padding: 1))[flat: 0].isNaN)
    let norm = kernels.groupNorm(
      image, groupCount: 4, weight: Tensor(repeating: 1, shape: [16]), bias: Tensor(zeros: [16]), epsilon: 1e-5, activation: .silu
    )
    #expect(norm.elements.enumerated().allSatisfy { $0.element.isNaN == ($0.offset % 16 < 4) })
  }

  @Test(arguments: names)
  func emptyTensors(name: String) throws {
    let kernels = try kernels(name)
    let matrix = LinearWeight(view: WeightView(name: "w", tensor: Tensor(repeating: 1, shape: [3, 2])))
    #expect(kernels.linear(Tensor(zeros: [0, 2]), weight: matrix).shape == [0, 3])
    #expect(kernels.add(Tensor(zeros: [0, 4]), Tensor(zeros: [0, 4])).count == 0)
    let nothing = Tensor(zeros: [1, 0, 8])
    let query = Tensor(repeating: 1, shape: [1, 2, 8])
    let options = AttentionOptions(headCount: 2, scale: 1)
    #expect(
      kernels.attention(query: query, key: nothing, value: nothing, options: options).elements == [Float](repeating: 0, count: 16)
    )
  }
}
