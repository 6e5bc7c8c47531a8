import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tensors

/// The noise generators against torch, NumPy and a Philox oracle.
struct NoiseSourceTests {
  private struct Runs: Decodable {
    struct Run: Decodable {
      var seed: String
      var sizes: [Int]
    }
    var source: String
    var runs: [Run]
  }

  @Test(arguments: try Fixtures.cases(in: "random").filter { $0.op == "normals" })
  func callSequences(_ golden: GoldenCase) throws {
    let attributes: Runs = try golden.attributes()
    let source = try #require(RandomSource(rawValue: attributes.source))
    let expected = try golden.tensor("output.normals")
    var actual: [Float] = []
    for run in attributes.runs {
      var noise = source.makeNoiseSource(seed: try #require(UInt64(run.seed)))
      for size in run.sizes { actual += noise.normals(shape: [size]).elements }
    }
    let mismatch = golden.tolerance.mismatch(actual: Tensor(actual, shape: [actual.count]), expected: expected)
    #expect(mismatch == nil, "\(mismatch ?? "")")
  }

  private struct Latents: Decodable {
    var shape: [Int]
    var stride: Int
  }

  @Test(arguments: [0, 42])
  func latentsOfTorch(seed: Int) throws {
    let golden = try #require(try Fixtures.cases(in: "random").first { $0.op == "latents" })
    let attributes: Latents = try golden.attributes()
    var noise = RandomSource.torch.makeNoiseSource(seed: UInt64(seed))
    let latents = noise.normals(shape: Shape(attributes.shape))
    let width = attributes.shape[3]
    let stride = attributes.stride
    let kept = latents.elements.enumerated().filter { $0.offset % stride == 0 && $0.offset / width % stride == 0 }.map(\.element)
    let expected = try golden.tensor("output.\(seed)")
    let mismatch = golden.tolerance.mismatch(actual: Tensor(kept, shape: expected.shape), expected: expected)
    #expect(mismatch == nil, "\(mismatch ?? "")")
  }

  @Test func wordsOfMersenneTwister() {
    // The reference output of mt19937ar.c for init_genrand(5489).
    var engine = MersenneTwister(seed: 5489)
    #expect((0..<3).map { _ in engine.next() } == [3_499_211_612, 581_869_302, 3_890_346_734])
    for _ in 3..<9999 { _ = engine.next() }
    // C++ requires the 10000th output of std::mt19937 to be this one.
    #expect(engine.next() == 4_123_659_995)
  }

  @Test func wordsOfPhilox() {
    // Known answers of Random123, the authors' library.
    #expect(
      PhiloxGenerator.philox4x32(counter: SIMD4(repeating: 0), key: (0, 0))
        == SIMD4(0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8))
    #expect(
      PhiloxGenerator.philox4x32(counter: SIMD4(repeating: .max), key: (.max, .max))
        == SIMD4(0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd))
    #expect(
      PhiloxGenerator.philox4x32(
        counter: SIMD4(0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344), key: (0xa409_3822, 0x299f_31d0))
        == SIMD4(0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1))
  }

  /// First normals that others published: Apple's NumPy test, and what A1111's GPU emulation gives.
  @Test func publishedNormals() {
    var numpy = NumPyRandomState(seed: 12345)
    let tail = numpy.normals(shape: [10000]).elements.suffix(5)
    expectClose(Array(tail), [-0.862_853_45, 2.152_294_09, -0.006_705_56, -1.214_723_09, 0.654_988_66])
    var philox = PhiloxGenerator(seed: 42)
    expectClose(philox.normals(shape: [4]).elements, [0.194_019, 2.161_374, -0.172_051, 0.849_060])
    expectClose(philox.normals(shape: [4]).elements, [0.139_138, -0.108_216, -0.717_422, 0.756_649])
  }

  private func expectClose(_ actual: [Float], _ expected: [Float], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(actual.count == expected.count, sourceLocation: sourceLocation)
    for (a, e) in zip(actual, expected) { #expect(abs(a - e) <= 1.5e-6, "\(a), expected \(e)", sourceLocation: sourceLocation) }
  }

  // MARK: - Laws of every generator

  @Test(arguments: RandomSource.allCases)
  func sameSeedSameNumbers(_ source: RandomSource) {
    var first = source.makeNoiseSource(seed: UInt64(99))
    var second = source.makeNoiseSource(seed: UInt64(99))
    #expect(first.normals(shape: [3, 7]).elements == second.normals(shape: [3, 7]).elements)
    #expect(first.normals(shape: [40]).elements == second.normals(shape: [40]).elements)
    var other = source.makeNoiseSource(seed: UInt64(100))
    #expect(first.normals(shape: [40]).elements != other.normals(shape: [40]).elements)
  }

  @Test(arguments: RandomSource.allCases)
  func copiesReplay(_ source: RandomSource) {
    var original = source.makeNoiseSource(seed: UInt64(5))
    _ = original.normals(shape: [3])
    var copy = original
    let first = original.normals(shape: [21]).elements
    #expect(copy.normals(shape: [21]).elements == first)
    #expect(original.normals(shape: [21]).elements != first)
  }

  @Test(arguments: RandomSource.allCases)
  func momentsAreStandardNormal(_ source: RandomSource) {
    var noise = source.makeNoiseSource(seed: UInt64(3))
    let count = 100_000
    let values = noise.normals(shape: [count]).elements.map(Double.init)
    let mean = values.reduce(0, +) / Double(count)
    let variance = values.reduce(0) { $0 + $1 * $1 } / Double(count)
    let fourth = values.reduce(0) { $0 + $1 * $1 * $1 * $1 } / Double(count)
    // Four standard errors of each estimate.
    #expect(abs(mean) < 4 * (1 / Double(count)).squareRoot())
    #expect(abs(variance - 1) < 4 * (2 / Double(count)).squareRoot())
    #expect(abs(fourth - 3) < 4 * (96 / Double(count)).squareRoot())
    #expect(values.allSatisfy { $0.isFinite })
  }

  @Test func seedsAreCutAsTheOriginalsDo() {
    func first(_ source: RandomSource, _ seed: UInt64) -> Float {
      var noise = source.makeNoiseSource(seed: seed)
      return noise.normals(shape: [16])[flat: 0]
    }
    #expect(first(.torch, 7) == first(.torch, 7 + 1 << 32))
    #expect(first(.numpy, 7) == first(.numpy, 7 + 1 << 32))
    #expect(first(.philox, 7) != first(.philox, 7 + 1 << 32))
    var negative = RandomSource.torch.makeNoiseSource(seed: Int64(-1))
    #expect(negative.normals(shape: [16])[flat: 0] == first(.torch, 0xffff_ffff))
  }

  @Test func shapeDoesNotMatterToOneGenerator() {
    var flat = TorchGenerator(seed: 1)
    var shaped = TorchGenerator(seed: 1)
    #expect(flat.normals(shape: [120]).elements == shaped.normals(shape: [1, 4, 6, 5]).elements)
    #expect(flat == shaped)
  }

  @Test func callsOfTorchAreNotJoined() {
    var split = TorchGenerator(seed: 1)
    var whole = TorchGenerator(seed: 1)
    let parts = split.normals(shape: [8]).elements + split.normals(shape: [8]).elements
    #expect(parts != whole.normals(shape: [16]).elements)
  }

  @Test func batchesDrawPerImage() {
    var batch = PerImageNoise([TorchGenerator(seed: 1), TorchGenerator(seed: 2)])
    var first = TorchGenerator(seed: 1)
    var second = TorchGenerator(seed: 2)
    for _ in 0..<2 {
      let joined = batch.normals(shape: [2, 4, 5])
      #expect(joined.shape == [2, 4, 5])
      #expect(joined.slice(0..<1).elements == first.normals(shape: [1, 4, 5]).elements)
      #expect(joined.slice(1..<2).elements == second.normals(shape: [1, 4, 5]).elements)
    }
  }

  @Test(arguments: RandomSource.allCases)
  func emptyDraws(_ source: RandomSource) {
    var noise = source.makeNoiseSource(seed: UInt64(1))
    #expect(noise.normals(shape: [0, 4]).count == 0)
  }
}
