import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// Every fast set that this CPU has against the reference, on shapes that don't fit the tiles.
@Suite struct FastAgreementTests {
  // MARK: - Linear

  static let linearShapes: [(rows: Int, depth: Int, columns: Int)] = [
    (1, 1, 1), (1, 7, 5), (2, 320, 64), (3, 33, 17), (4, 64, 31), (5, 100, 9), (7, 40, 130), (8, 768, 49), (9, 5, 3),
    (13, 320, 320),
    (77, 130, 66), (97, 385, 23), (154, 770, 97), (300, 1030, 51), (1000, 17, 4), (2500, 9, 33), (4200, 12, 200), (20, 50, 900),
  ]

  @Test(arguments: FastSet.all, linearShapes)
  func linear(set: FastSet, shape: (rows: Int, depth: Int, columns: Int)) {
    var random = TestRandom(seed: 1)
    let input = random.tensor([shape.rows, shape.depth])
    let matrix = LinearWeight(view: weight(random.tensor([shape.columns, shape.depth]), as: .f32))
    let bias = random.tensor([shape.columns])
    let residual = random.tensor([shape.rows, shape.columns])
    set.expectAgreement(limit: 2e-6, "plain") { $0.linear(input, weight: matrix) }
    set.expectAgreement(limit: 2e-6, "fused") {
      $0.linear(input, weight: matrix, bias: bias, activation: .gelu, residual: residual)
    }
  }

  @Test(arguments: FastSet.all, [(9, 33, 20), (13, 320, 320), (100, 72, 97), (1100, 400, 130), (2100, 5, 700)])
  func gatedLinear(set: FastSet, shape: (rows: Int, depth: Int, columns: Int)) {
    var random = TestRandom(seed: 10)
    let input = random.tensor([shape.rows, shape.depth])
    func layer(_ dtype: DType, hasBias: Bool) -> LinearParameters {
      LinearParameters(
        weight: LinearWeight(view: weight(random.tensor([shape.columns, shape.depth]), as: dtype)),
        bias: hasBias ? random.tensor([shape.columns]) : nil)
    }
    for (gate, up) in [
      (layer(.f16, hasBias: true), layer(.f16, hasBias: true)), (layer(.f32, hasBias: false), layer(.bf16, hasBias: true)),
    ] {
      for activation in [Activation.gelu, .silu] {
        set.expectAgreement(limit: 5e-6, "\(activation)") {
          $0.gatedLinear(input, gate: gate, up: up, activation: activation)
        }
      }
    }
  }

  /// 16-bit weights are packed sixteen rows at a time; all other types row by row.
  @Test(arguments: FastSet.all, [DType.f16, .bf16])
  func packedWeights(set: FastSet, dtype: DType) {
    var random = TestRandom(seed: 12)
    for (depth, columns) in [(1, 1), (31, 15), (32, 16), (33, 17), (63, 47), (64, 48), (65, 49), (400, 95)] {
      let input = random.tensor([20, depth])
      let matrix = LinearWeight(view: weight(random.tensor([columns, depth], in: -3...3), as: dtype))
      set.expectAgreement(limit: 2e-6, "\(depth) × \(columns)") { $0.linear(input, weight: matrix) }
    }
    for (channels, outChannels, size, options) in [
      (20, 50, 9, ConvOptions(stride: 2, padding: 1)), (70, 33, 12, ConvOptions(padding: 1)),
      (40, 130, 5, ConvOptions(padding: 1)),
      (33, 17, 4, ConvOptions(padding: 1)),
    ] {
      let image = random.tensor([2, size, size, channels])
      let filter = ConvWeight(view: weight(random.tensor([outChannels, channels, 3, 3]), as: dtype))
      set.expectAgreement(limit: 5e-6, "\(channels) → \(outChannels)") { $0.conv2d(image, weight: filter, options: options) }
    }
  }

  @Test(arguments: FastSet.all, [DType.f32, .f16, .bf16, .f64])
  func weightTypes(set: FastSet, dtype: DType) {
    var random = TestRandom(seed: 2)
    for (rows, depth, columns) in [(1, 75, 20), (3, 64, 33), (50, 75, 37), (50, 411, 16)] {
      let input = random.tensor([rows, depth])
      let matrix = LinearWeight(view: weight(random.tensor([columns, depth], in: -3...3), as: dtype))
      set.expectAgreement(limit: 2e-6, "\(dtype) \(rows) rows") { $0.linear(input, weight: matrix) }
    }
    let image = random.tensor([2, 9, 7, 20])
    let kernel = ConvWeight(view: weight(random.tensor([21, 20, 3, 3]), as: dtype))
    set.expectAgreement(limit: 1e-5, "\(dtype) 3×3") { $0.conv2d(image, weight: kernel, options: ConvOptions(padding: 1)) }
    set.expectAgreement(limit: 2e-6, "\(dtype) 3×3 stride 2") {
      $0.conv2d(image, weight: kernel, options: ConvOptions(stride: 2, padding: 1))
    }
  }

  @Test(arguments: FastSet.all)
  func halfPrecisionSpecials(set: FastSet) {
    // All magnitudes of half precision, subnormals included, through a product with the identity.
    let values = stride(from: 0, to: 0x7C00, by: 13).map { Float(Float16(bitPattern: UInt16($0))) }
    let column = Tensor(values.enumerated().map { $0.offset % 2 == 0 ? $0.element : -$0.element }, shape: [values.count, 1])
    let matrix = LinearWeight(view: weight(column, as: .f16))
    for rows in [1, 20] {
      let result = set.two.linear(Tensor(repeating: 1, shape: [rows, 1]), weight: matrix)
      #expect(Array(result.elements.prefix(values.count)) == column.elements, "\(rows) rows")
    }
    for special in [Float.infinity, -.infinity, .nan] {
      let matrix = LinearWeight(view: weight(Tensor(repeating: special, shape: [8, 8]), as: .f16))
      let result = set.two.linear(Tensor(repeating: 1, shape: [1, 8]), weight: matrix)
      #expect(result.elements.allSatisfy { special.isNaN ? $0.isNaN : $0 == special })
    }
  }

  // MARK: - Convolutions

  struct Convolution: Sendable, CustomTestStringConvertible {
    var images = 1
    var height: Int
    var width: Int
    var channels: Int
    var outChannels: Int
    var kernel: (Int, Int) = (3, 3)
    var options = ConvOptions(padding: 1)
    var testDescription: String {
      "\(images)×\(height)×\(width)×\(channels) → \(outChannels), \(kernel.0)×\(kernel.1), \(options)"
    }
  }

  static let convolutions: [Convolution] = [
    .init(height: 8, width: 8, channels: 32, outChannels: 32),
    .init(images: 2, height: 13, width: 17, channels: 40, outChannels: 24),
    .init(images: 3, height: 6, width: 5, channels: 19, outChannels: 37),
    .init(height: 33, width: 62, channels: 16, outChannels: 8),
    .init(height: 9, width: 30, channels: 300, outChannels: 18),
    .init(height: 16, width: 16, channels: 64, outChannels: 200),
    .init(height: 1, width: 1, channels: 33, outChannels: 20),
    .init(height: 2, width: 3, channels: 16, outChannels: 16),
    .init(height: 12, width: 12, channels: 4, outChannels: 50),
    .init(height: 12, width: 11, channels: 50, outChannels: 4),
    .init(height: 12, width: 11, channels: 1, outChannels: 1),
    // Two tiles and twenty, whose filters are transformed in several blocks of the depth; more tiles than one pass.
    .init(images: 2, height: 4, width: 4, channels: 200, outChannels: 100),
    .init(images: 2, height: 7, width: 18, channels: 170, outChannels: 60),
    .init(height: 45, width: 50, channels: 24, outChannels: 150),
    .init(height: 10, width: 10, channels: 20, outChannels: 20, options: ConvOptions(padding: 0)),
    .init(
      height: 10, width: 9, channels: 24, outChannels: 17, options: ConvOptions(stride: 1, top: 0, bottom: 2, left: 3, right: 1)),
    .init(images: 2, height: 15, width: 14, channels: 24, outChannels: 31, options: ConvOptions(stride: 2, padding: 1)),
    .init(
      height: 14, width: 15, channels: 24, outChannels: 31, options: ConvOptions(stride: 2, top: 0, bottom: 1, left: 0, right: 1)),
    .init(images: 2, height: 28, width: 42, channels: 3, outChannels: 35, kernel: (14, 14), options: ConvOptions(stride: 14)),
    .init(images: 2, height: 7, width: 9, channels: 45, outChannels: 33, kernel: (1, 1), options: ConvOptions()),
    .init(height: 7, width: 9, channels: 45, outChannels: 33, kernel: (1, 1), options: ConvOptions(stride: 2, padding: 1)),
    .init(height: 1, width: 4, channels: 45, outChannels: 33, kernel: (1, 1), options: ConvOptions()),
    .init(height: 11, width: 9, channels: 9, outChannels: 10, kernel: (5, 2), options: ConvOptions(stride: 3, padding: 2)),
    .init(height: 60, width: 60, channels: 2, outChannels: 3, kernel: (2, 2), options: ConvOptions(stride: 2)),
  ]

  @Test(arguments: FastSet.all, convolutions)
  func conv2d(set: FastSet, shape: Convolution) {
    var random = TestRandom(seed: 3)
    let input = random.tensor([shape.images, shape.height, shape.width, shape.channels])
    let kernel = ConvWeight(
      view: weight(random.tensor([shape.outChannels, shape.channels, shape.kernel.0, shape.kernel.1]), as: .f32))
    let outHeight = shape.options.outputHeight(shape.height, kernel: shape.kernel.0)
    let outWidth = shape.options.outputWidth(shape.width, kernel: shape.kernel.1)
    let bias = random.tensor([shape.outChannels])
    let imageBias = random.tensor([shape.images, shape.outChannels])
    let residual = random.tensor([shape.images, outHeight, outWidth, shape.outChannels])
    set.expectAgreement(limit: 5e-6, "plain") { $0.conv2d(input, weight: kernel, options: shape.options) }
    set.expectAgreement(limit: 5e-6, "fused") {
      $0.conv2d(input, weight: kernel, options: shape.options, bias: bias, imageBias: imageBias, residual: residual)
    }
  }

  // MARK: - Norms

  @Test(
    arguments: FastSet.all,
    [(1, 1, 1, 1), (2, 5, 6, 3), (1, 64, 64, 32), (3, 100, 48, 48), (2, 333, 40, 8), (1, 1, 320, 32), (2, 4097, 20, 5)])
  func groupNorm(set: FastSet, shape: (images: Int, pixels: Int, channels: Int, groups: Int)) {
    var random = TestRandom(seed: 4)
    let input = random.tensor([shape.images, shape.pixels, 1, shape.channels], in: 3...8)
    let scale = random.tensor([shape.channels])
    let shift = random.tensor([shape.channels])
    for activation in Activation.allCases {
      set.expectAgreement(limit: 2e-5, activation.rawValue) {
        $0.groupNorm(input, groupCount: shape.groups, weight: scale, bias: shift, epsilon: 1e-5, activation: activation)
      }
    }
  }

  @Test(arguments: FastSet.all)
  func groupNormFarFromZero(set: FastSet) {
    var random = TestRandom(seed: 5)
    // A deviation of 1/1000 of the mean: sums of squares in single precision would lose it all.
    let noise = random.tensor([1, 32, 32, 64])
    let input = Tensor(noise.elements.map { 1000 + $0 }, shape: noise.shape)
    let one = Tensor(repeating: 1, shape: [64])
    let zero = Tensor(zeros: [64])
    set.expectAgreement(limit: 2e-4) {
      $0.groupNorm(input, groupCount: 16, weight: one, bias: zero, epsilon: 1e-6, activation: .none)
    }
  }

  @Test(arguments: FastSet.all, [(1, 1), (3, 5), (7, 64), (77, 768), (40, 321), (300, 20)])
  func rowNorms(set: FastSet, shape: (rows: Int, width: Int)) {
    var random = TestRandom(seed: 6)
    let input = random.tensor([1, shape.rows, shape.width], in: -2...5)
    let scale = random.tensor([shape.width])
    let shift = random.tensor([shape.width])
    set.expectAgreement(limit: 5e-6) { $0.layerNorm(input, weight: scale, bias: shift, epsilon: 1e-5) }
    set.expectAgreement(limit: 5e-6) { $0.rmsNorm(input, weight: scale, epsilon: 1e-5) }
  }

  // MARK: - Attention

  struct Attention: Sendable, CustomTestStringConvertible {
    var batch = 1
    var queries: Int
    var keys: Int
    var heads = 1
    var keyValueHeads: Int?
    var width: Int
    var causalOffset: Int?
    var testDescription: String {
      "\(batch)×\(queries)×\(keys), \(heads)/\(keyValueHeads ?? heads) heads of \(width), causal \(causalOffset.map(String.init) ?? "no")"
    }
  }

  static let attentions: [Attention] = [
    .init(queries: 1, keys: 1, width: 1), .init(queries: 1, keys: 77, heads: 3, width: 64),
    .init(batch: 2, queries: 3, keys: 300, heads: 4, keyValueHeads: 2, width: 40),
    .init(queries: 4, keys: 9, heads: 2, width: 33, causalOffset: 5),
    .init(batch: 2, queries: 64, keys: 64, heads: 8, width: 40), .init(batch: 2, queries: 100, keys: 77, heads: 2, width: 80),
    .init(queries: 193, keys: 500, heads: 2, width: 160), .init(queries: 50, keys: 50, heads: 1, width: 17),
    .init(queries: 49, keys: 200, heads: 6, keyValueHeads: 3, width: 64),
    .init(queries: 77, keys: 77, heads: 2, width: 64, causalOffset: 0),
    .init(queries: 60, keys: 250, heads: 3, keyValueHeads: 1, width: 20, causalOffset: 190),
    .init(queries: 20, keys: 12, heads: 1, width: 8, causalOffset: -3), .init(queries: 20, keys: 40, heads: 1, width: 300),
    .init(queries: 2, keys: 5, heads: 1, width: 9, causalOffset: -1),
  ]

  @Test(arguments: FastSet.all, attentions)
  func attention(set: FastSet, shape: Attention) {
    var random = TestRandom(seed: 7)
    let keyHeads = shape.keyValueHeads ?? shape.heads
    let query = random.tensor([shape.batch, shape.queries, shape.heads * shape.width], in: -2...2)
    let key = random.tensor([shape.batch, shape.keys, keyHeads * shape.width], in: -2...2)
    let value = random.tensor([shape.batch, shape.keys, keyHeads * shape.width])
    let options = AttentionOptions(
      headCount: shape.heads, keyValueHeadCount: keyHeads, scale: 1 / Float(shape.width).squareRoot(),
      causalOffset: shape.causalOffset)
    set.expectAgreement(limit: 5e-6) { $0.attention(query: query, key: key, value: value, options: options) }
  }

  // MARK: - Element by element

  @Test(arguments: FastSet.all, Activation.allCases)
  func activations(set: FastSet, activation: Activation) {
    let values = stride(from: -40, through: 40, by: 0.013).map { Float($0) } + [0, -0.0, 1e-30, -1e-30, 100, -100, 3e38]
    let input = Tensor(values, shape: [values.count])
    set.expectAgreement(limit: 1e-6) { $0.activate(input, activation) }
    // Near zero and in the tails the error is small beside the value, not only beside the largest value.
    let expected = ReferenceKernels().activate(input, activation).elements
    for (index, actual) in set.two.activate(input, activation).elements.enumerated() where abs(values[index]) < 12 {
      let bound = max(3e-6 * abs(expected[index]), 1e-12)
      #expect(
        abs(actual - expected[index]) <= bound, "\(activation)(\(values[index])): expected \(expected[index]), found \(actual)")
    }
    let special = set.two.activate(Tensor([.nan, .infinity], shape: [2]), activation).elements
    #expect(special[0].isNaN && special[1] == .infinity)
  }

  @Test(arguments: FastSet.all, [[1, 1], [3, 5], [2, 7, 40], [1, 600, 129]])
  func elementwise(set: FastSet, dimensions: [Int]) {
    var random = TestRandom(seed: 8)
    let shape = Shape(dimensions)
    let (left, right) = (random.tensor(shape), random.tensor(shape))
    set.expectAgreement(limit: 0) { $0.add(left, right) }
    let gated = random.tensor(Shape(dimensions.dropLast() + [2 * (dimensions.last ?? 1)]), in: -6...6)
    set.expectAgreement(limit: 1e-6) { $0.geglu(gated) }
  }

  @Test(arguments: FastSet.all, [[1, 1, 1, 1], [2, 3, 5, 7], [1, 20, 33, 40]])
  func upsample(set: FastSet, dimensions: [Int]) {
    var random = TestRandom(seed: 9)
    let input = random.tensor(Shape(dimensions))
    set.expectAgreement(limit: 0) { $0.upsampleNearest2x(input) }
  }
}
