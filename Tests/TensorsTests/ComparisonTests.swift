import Testing

@testable import Tensors

/// The comparison that all goldens rely on.
struct ComparisonTests {
  private func compare(_ actual: [Float], _ expected: [Float]) -> Comparison? {
    Comparison(actual: Tensor(actual, shape: [actual.count]), expected: Tensor(expected, shape: [expected.count]))
  }

  @Test func equalTensors() throws {
    let result = try #require(compare([1, -2, 0], [1, -2, 0]))
    #expect(result.maxAbsolute == 0 && result.maxRelative == 0 && result.normalizedMeanSquaredError == 0)
    #expect(!result.hasNonFiniteMismatch)
  }

  @Test func worstPlaceAndScales() throws {
    let result = try #require(compare([1, 4.5, -10], [1, 4, -10.25]))
    #expect(result.worstIndex == 1 && result.worstActual == 4.5 && result.worstExpected == 4)
    #expect(result.maxAbsolute == 0.5)
    #expect(abs(result.maxRelative - 0.5 / 10.25) < 1e-12)
    #expect(abs(result.normalizedMeanSquaredError - (0.25 + 0.0625) / (1 + 16 + 10.25 * 10.25)) < 1e-12)
  }

  @Test func negativeZeroIsZero() throws {
    #expect(try #require(compare([-0.0], [0])).maxAbsolute == 0)
  }

  @Test(arguments: [
    ([Float.nan], [Float.nan]), ([Float.nan], [0]), ([0], [Float.nan]), ([Float.infinity], [0]),
    ([Float.infinity], [-Float.infinity]),
  ])
  func nonFiniteNeverPasses(_ pair: ([Float], [Float])) throws {
    let result = try #require(compare(pair.0, pair.1))
    #expect(result.hasNonFiniteMismatch)
    #expect(result.maxAbsolute == .infinity && result.maxRelative == .infinity && result.normalizedMeanSquaredError == .infinity)
  }

  @Test func equalInfinitiesPass() throws {
    let result = try #require(compare([.infinity, 1], [.infinity, 1]))
    #expect(!result.hasNonFiniteMismatch && result.maxAbsolute == 0)
  }

  @Test func nonFinitePlaceWins() throws {
    let result = try #require(compare([100, .nan, 3], [0, 2, 0]))
    #expect(result.worstIndex == 1)
  }

  @Test func expectedZerosHaveNoRelativeScale() throws {
    #expect(try #require(compare([0.1, 0], [0, 0])).maxRelative == .infinity)
  }

  @Test func shapesMustAgree() {
    #expect(Comparison(actual: Tensor(zeros: [2, 3]), expected: Tensor(zeros: [3, 2])) == nil)
    #expect(compare([], [])?.maxAbsolute == 0)
  }

  @Test func signalToNoise() {
    let expected = Tensor([0, 0.5, 1, 0.25], shape: [4])
    #expect(Comparison.psnr(actual: expected, expected: expected) == .infinity)
    let shifted = expected.map { $0 + 0.1 }
    #expect(abs(Comparison.psnr(actual: shifted, expected: expected) - 20) < 1e-4)
    #expect(abs(Comparison.psnr(actual: shifted, expected: expected, peak: 10) - 40) < 1e-4)
    #expect(Comparison.psnr(actual: expected.map { _ in .nan }, expected: expected) == -.infinity)
    #expect(Comparison.psnr(actual: expected, expected: Tensor(zeros: [2])) == -.infinity)
  }
}
