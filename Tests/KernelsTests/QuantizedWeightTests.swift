import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// Products with weights in GGUF blocks: few rows stay in integers, more rows are converted panel by panel.
@Suite struct QuantizedWeightTests {
  static let types: [DType] = [.q4_0, .q4_1, .q5_0, .q5_1, .q8_0, .q2K, .q3K, .q4K, .q5K, .q6K]

  /// Random blocks: any bits, but scales and minima that are small finite numbers.
  private func blocks(_ dtype: DType, rows: Int, depth: Int, seed: UInt64) -> WeightView {
    var random = TestRandom(seed: seed)
    let count = rows * depth / dtype.blockLength
    var bytes = (0..<(count * dtype.blockBytes)).map { _ in UInt8.random(in: 0...255, using: &random) }
    let halves: [Int] =
      switch dtype {
      case .q4_1, .q5_1: [0, 2]
      case .q2K: [80, 82]
      case .q3K: [108]
      case .q4K, .q5K: [0, 2]
      case .q6K: [208]
      default: [0]
      }
    for block in 0..<count {
      for offset in halves {
        let scale = Float16(Float.random(in: -0.02...0.02, using: &random)).bitPattern
        bytes[block * dtype.blockBytes + offset] = UInt8(scale & 0xFF)
        bytes[block * dtype.blockBytes + offset + 1] = UInt8(scale >> 8)
      }
    }
    let owner = BytesOwner(bytes)
    return WeightView(name: "weight", dtype: dtype, shape: [rows, depth], bytes: owner.bytes, owner: owner)
  }

  @Test(arguments: FastSet.all, types)
  func everyNumberOfRows(set: FastSet, dtype: DType) {
    let depth = dtype.blockLength * (dtype.blockLength == 32 ? 18 : 3)
    let matrix = LinearWeight(view: blocks(dtype, rows: 83, depth: depth, seed: 5))
    var random = TestRandom(seed: 6)
    let bias = random.tensor([83])
    for rows in [1, 2, 4, 5, 8, 9, 40] {
      let input = random.tensor([rows, depth])
      let residual = random.tensor([rows, 83])
      set.expectAgreement(limit: 3e-5, "\(dtype.rawValue), \(rows) rows") {
        $0.linear(input, weight: matrix, bias: bias, activation: .silu, residual: residual)
      }
    }
  }

  @Test(arguments: FastSet.all, [DType.q4_0, .q4_1, .q8_0])
  func staysWithinItsBound(set: FastSet, dtype: DType) {
    // Activations of very different sizes in one block are the worst case.
    for (depth, seed) in [(32, UInt64(1)), (96, 2), (576, 3), (1536, 4)] {
      let view = blocks(dtype, rows: 50, depth: depth, seed: seed)
      var random = TestRandom(seed: seed)
      var values = random.tensor([depth]).elements
      for index in values.indices { values[index] *= [1, 30, 0.01, 1e-5][index % 4] }
      let input = Tensor(values, shape: [1, depth])
      let result = set.two.linear(input, weight: LinearWeight(view: view)).elements
      let weights = view.float32().elements
      for column in 0..<50 {
        var exact = 0.0
        var bound = 0.0
        for block in stride(from: 0, to: depth, by: 32) {
          let largest = values[block..<(block + 32)].reduce(0) { max($0, abs($1)) }
          for index in block..<(block + 32) {
            let weight = Double(weights[column * depth + index])
            exact += weight * Double(values[index])
            // Half a step of 16 bits, and single precision's rounding of the sums (offsets cancel against products).
            bound += (abs(weight) + 0.3) * Double(largest) * (0x1p-16 + 0x1p-21)
          }
        }
        let error = abs(Double(result[column]) - exact)
        #expect(error <= bound, "depth \(depth), column \(column): error \(error), bound \(bound)")
      }
    }
  }

  @Test(arguments: FastSet.all)
  func damageIsNotHidden(set: FastSet) {
    let matrix = LinearWeight(view: blocks(.q8_0, rows: 20, depth: 64, seed: 1))
    for special in [Float.nan, .infinity, -.infinity] {
      var values = [Float](repeating: 1, count: 64)
      values[37] = special
      let result = set.two.linear(Tensor(values, shape: [1, 64]), weight: matrix)
      #expect(result.elements.allSatisfy { !$0.isFinite }, "\(special)")
    }
    let zero = set.two.linear(Tensor(repeating: 0, shape: [1, 64]), weight: matrix)
    #expect(zero.elements.allSatisfy { $0 == 0 })
  }
}
