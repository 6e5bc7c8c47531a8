import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// bfloat16 arithmetic against plain loops over rounded factors, where the CPU has it.
@Suite struct BFloat16Tests {
  static let sets: [any KernelSet] = [1, 2, 3].compactMap { threads in
    (try? KernelFactory.make(.fast, threads: threads, instructionSet: .v4bf16))?.with(.bf16)
  }

  static let shapes: [(rows: Int, depth: Int, columns: Int)] = [
    (1, 40, 7), (8, 33, 20), (9, 1, 1), (9, 5, 3), (13, 320, 320), (77, 131, 66), (97, 385, 23), (154, 770, 97), (300, 1030, 51),
    (1000, 17, 4), (2500, 9, 33),
  ]

  @Test(.enabled(if: !sets.isEmpty), arguments: shapes, [DType.f32, .f16, .bf16])
  func linear(shape: (rows: Int, depth: Int, columns: Int), dtype: DType) throws {
    var random = TestRandom(seed: 11)
    let input = random.tensor([shape.rows, shape.depth])
    let matrix = LinearWeight(view: weight(random.tensor([shape.columns, shape.depth]), as: dtype))
    let bias = random.tensor([shape.columns])
    let residual = random.tensor([shape.rows, shape.columns])
    let expected = ReferenceKernels(precision: .bf16)
      .linear(input, weight: matrix, bias: bias, activation: .gelu, residual: residual)
    let results = Self.sets.map { $0.linear(input, weight: matrix, bias: bias, activation: .gelu, residual: residual) }
    #expect(GoldenTolerance.relative(5e-6)(results[0], expected) == nil)
    for other in results.dropFirst() { #expect(bits(of: other) == bits(of: results[0])) }
  }

  @Test(.enabled(if: !sets.isEmpty))
  func pointwiseConvolution() throws {
    var random = TestRandom(seed: 12)
    let image = random.tensor([2, 9, 7, 37])
    let kernel = weight(random.tensor([21, 37, 1, 1]), as: .f16)
    let asLinear = kernel.reinterpreted(shape: [21, 37])
    let expected = ReferenceKernels(precision: .bf16)
      .linear(image, weight: LinearWeight(view: asLinear), bias: nil, activation: .none, residual: nil)
    let result = Self.sets[0].conv2d(image, weight: ConvWeight(view: kernel), options: ConvOptions())
    #expect(GoldenTolerance.relative(5e-6)(result, expected) == nil)
  }

  /// The values as bfloat16 has them.
  private func rounded(_ tensor: Tensor) -> Tensor {
    Tensor(
      tensor.elements.map { Float(bitPattern: ($0.bitPattern + 0x7FFF + ($0.bitPattern >> 16 & 1)) & 0xFFFF_0000) },
      shape: tensor.shape)
  }

  /// Direct sums are made from rounded factors, also where the rows are few or the channels odd in number.
  @Test(
    .enabled(if: !sets.isEmpty),
    arguments: [
      (2, 15, 14, 24, 31, 3, 2), (1, 9, 7, 34, 50, 3, 2), (2, 28, 42, 4, 35, 5, 3), (1, 3, 2, 64, 20, 3, 2),
      (1, 12, 12, 4, 50, 3, 1),
    ])
  func directConvolution(
    images: Int, height: Int, width: Int, channels: Int, outChannels: Int, kernel: Int, stride: Int
  ) throws {
    var random = TestRandom(seed: 13)
    let image = random.tensor([images, height, width, channels])
    let filter = random.tensor([outChannels, channels, kernel, kernel])
    let bias = random.tensor([outChannels])
    let options = ConvOptions(stride: stride, padding: 1)
    let expected = ReferenceKernels().conv2d(
      rounded(image), weight: ConvWeight(view: weight(rounded(filter), as: .f32)), options: options, bias: bias)
    for dtype in [DType.f32, .bf16] {
      let view = weight(dtype == .bf16 ? rounded(filter) : filter, as: dtype)
      let results = Self.sets.map { $0.conv2d(image, weight: ConvWeight(view: view), options: options, bias: bias) }
      #expect(GoldenTolerance.relative(5e-6)(results[0], expected) == nil, "\(dtype)")
      for other in results.dropFirst() { #expect(bits(of: other) == bits(of: results[0])) }
    }
  }

  /// An odd number of channels makes no pairs: such sums stay in single precision.
  @Test(.enabled(if: !sets.isEmpty))
  func convolutionOfOddChannels() throws {
    var random = TestRandom(seed: 14)
    let image = random.tensor([1, 11, 9, 9])
    let filter = ConvWeight(view: weight(random.tensor([10, 9, 3, 3]), as: .f16))
    let options = ConvOptions(stride: 2, padding: 1)
    let expected = ReferenceKernels().conv2d(image, weight: filter, options: options)
    #expect(GoldenTolerance.relative(2e-6)(Self.sets[0].conv2d(image, weight: filter, options: options), expected) == nil)
  }

  /// Queries, keys and values are rounded; the probabilities too, which the reference doesn't do.
  @Test(
    .enabled(if: !sets.isEmpty),
    arguments: [
      (2, 64, 64, 8, 40), (1, 100, 77, 2, 80), (1, 193, 501, 2, 33), (1, 50, 1, 1, 17), (2, 49, 200, 3, 64), (1, 20, 385, 1, 160),
    ])
  func attention(batch: Int, queries: Int, keys: Int, heads: Int, width: Int) throws {
    var random = TestRandom(seed: 15)
    let query = random.tensor([batch, queries, heads * width], in: -2...2)
    let key = random.tensor([batch, keys, heads * width], in: -2...2)
    let value = random.tensor([batch, keys, heads * width])
    for causalOffset in [nil, keys - queries] {
      let options = AttentionOptions(headCount: heads, scale: 1 / Float(width).squareRoot(), causalOffset: causalOffset)
      // A rounded scale would round the queries twice; so they are scaled first.
      let factor = options.scale * 1.442_695_04
      let scaled = rounded(Tensor(query.elements.map { $0 * factor }, shape: query.shape))
      var exact = options
      exact.scale = 1 / 1.442_695_04
      let expected = ReferenceKernels().attention(query: scaled, key: rounded(key), value: rounded(value), options: exact)
      let results = Self.sets.map { $0.attention(query: query, key: key, value: value, options: options) }
      // Half a unit of eight bits in each probability.
      #expect(GoldenTolerance.relative(2e-3)(results[0], expected) == nil)
      for other in results.dropFirst() { #expect(bits(of: other) == bits(of: results[0])) }
    }
  }

  /// A gated product is the two products, multiplied.
  @Test(.enabled(if: !sets.isEmpty), arguments: [(9, 33, 20), (100, 72, 97), (1100, 400, 130)])
  func gatedLinear(rows: Int, depth: Int, columns: Int) throws {
    var random = TestRandom(seed: 16)
    let input = random.tensor([rows, depth])
    func layer() -> LinearParameters {
      LinearParameters(
        weight: LinearWeight(view: weight(random.tensor([columns, depth]), as: .f16)), bias: random.tensor([columns]))
    }
    let (gate, up) = (layer(), layer())
    let expected = ReferenceKernels(precision: .bf16).gatedLinear(input, gate: gate, up: up, activation: .gelu)
    let results = Self.sets.map { $0.gatedLinear(input, gate: gate, up: up, activation: .gelu) }
    #expect(GoldenTolerance.relative(5e-6)(results[0], expected) == nil)
    for other in results.dropFirst() { #expect(bits(of: other) == bits(of: results[0])) }
  }

  @Test func precisionIsThereOrRefused() throws {
    for instructionSet in KernelFactory.availableInstructionSets {
      let set = try KernelFactory.make(.fast, threads: 1, instructionSet: instructionSet)
      #expect(set.with(.f32)?.name == set.name)
      #expect((set.with(.bf16) != nil) == (instructionSet == .v4bf16))
      if let half = set.with(.bf16) { #expect(half.name != set.name && half.with(.f32)?.name == set.name) }
    }
    #expect(ReferenceKernels().with(.bf16) != nil)
  }

  @Test func theReferenceRoundsToNearestEven() {
    // 1 + 2⁻⁸ lies halfway between two bfloat16 numbers; 1 + 3 · 2⁻⁸ too, and goes up.
    let input = Tensor([Float](repeating: 1, count: 9), shape: [9, 1])
    let cases: [(Float, Float)] = [(1 + 0x1p-8, 1), (1 + 0x1.8p-7, 1 + 0x1p-6), (1 + 0x1.2p-8, 1 + 0x1p-7)]
    for (value, rounded) in cases {
      let matrix = LinearWeight(view: weight(Tensor([value], shape: [1, 1]), as: .f32))
      let result = ReferenceKernels(precision: .bf16).linear(input, weight: matrix)
      #expect(result.elements.allSatisfy { $0 == rounded }, "\(value)")
    }
  }
}
