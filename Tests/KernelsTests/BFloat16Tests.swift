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
