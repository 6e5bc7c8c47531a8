import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// Layers that share an input, and gated layers: the same values as one layer after the other.
@Suite struct JoinedLayersTests {
  /// Weights of 18 blocks a row; a different one for each seed.
  private func blocks(_ dtype: DType, rows: Int, seed: UInt64) -> WeightView {
    var random = TestRandom(seed: seed)
    let count = rows * 18
    var bytes = (0..<(count * dtype.blockBytes)).map { _ in UInt8.random(in: 0...255, using: &random) }
    for block in 0..<count {
      for offset in dtype == .q4_1 ? [0, 2] : [0] {
        let scale = Float16(Float.random(in: -0.02...0.02, using: &random)).bitPattern
        bytes[block * dtype.blockBytes + offset] = UInt8(scale & 0xFF)
        bytes[block * dtype.blockBytes + offset + 1] = UInt8(scale >> 8)
      }
    }
    let owner = BytesOwner(bytes)
    return WeightView(name: "weight", dtype: dtype, shape: [rows, 576], bytes: owner.bytes, owner: owner)
  }

  private func layer(_ dtype: DType, rows: Int, seed: UInt64, hasBias: Bool) -> LinearParameters {
    var random = TestRandom(seed: seed + 100)
    let view = dtype.blockLength == 1 ? weight(random.tensor([rows, 576]), as: dtype) : blocks(dtype, rows: rows, seed: seed)
    return LinearParameters(weight: LinearWeight(view: view), bias: hasBias ? random.tensor([rows]) : nil)
  }

  @Test(
    arguments: FastSet.all, [[DType.q8_0, .q8_0, .q8_0], [.q4_1, .q4_1], [.q4_0, .q8_0, .q4_0], [.f16, .f16], [.q4_0, .f32]])
  func layersOfOneInput(set: FastSet, types: [DType]) {
    let layers = types.enumerated().map { index, type in
      layer(type, rows: [83, 17, 130][index], seed: UInt64(index + 1), hasBias: index != 1)
    }
    var random = TestRandom(seed: 9)
    for rows in [1, 3, 4, 5, 20] {
      let input = random.tensor([1, rows, 576])
      for index in layers.indices {
        set.expectAgreement(limit: 3e-5, "\(rows) rows, layer \(index)") { $0.linears(input, layers)[index] }
      }
      #expect(set.two.linears(input, layers).map(\.shape) == layers.map { [1, rows, $0.weight.outFeatures] })
    }
    #expect(set.two.linears(random.tensor([1, 576]), []).isEmpty)
  }

  @Test(arguments: FastSet.all, [(DType.q8_0, DType.q8_0), (.q4_1, .q4_1), (.q4_0, .q8_0), (.f16, .f32)])
  func gatedLayers(set: FastSet, types: (DType, DType)) {
    let gate = layer(types.0, rows: 83, seed: 1, hasBias: true)
    let up = layer(types.1, rows: 83, seed: 2, hasBias: true)
    var random = TestRandom(seed: 10)
    for rows in [1, 2, 4, 5, 20] {
      let input = random.tensor([1, rows, 576])
      for activation in [Activation.silu, .gelu] {
        set.expectAgreement(limit: 6e-5, "\(rows) rows, \(activation)") {
          $0.gatedLinear(input, gate: gate, up: up, activation: activation)
        }
      }
    }
  }

  /// Fresh memory of a mebibyte is zeros, so what wasn't computed shows.
  @Test(arguments: FastSet.all)
  func aCancelledSetStopsWhereItStands(set: FastSet) {
    var random = TestRandom(seed: 11)
    let input = random.tensor([512, 64], in: 0.5...1)
    let matrix = LinearWeight(view: weight(random.tensor([1024, 64], in: 0.5...1), as: .f16))
    let image = random.tensor([1, 64, 64, 32], in: 0.5...1)
    let filter = ConvWeight(view: weight(random.tensor([64, 32, 3, 3], in: 0.5...1), as: .f16))
    let token = CancellationToken()
    let kernels = set.two.stopping(at: token)
    #expect(kernels.name == set.two.name && kernels.threadCount == 2)
    #expect(bits(of: kernels.linear(input, weight: matrix)) == bits(of: set.two.linear(input, weight: matrix)))
    token.cancel()
    for result in BufferPool.withOwnPool({ _ in
      [kernels.linear(input, weight: matrix), kernels.conv2d(image, weight: filter, options: ConvOptions(padding: 1))]
    }) {
      #expect(result.elements.contains { $0 < 1 }, "every sum is far above 1")
    }
  }
}
