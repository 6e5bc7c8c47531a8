import Goldens
import Tensors
import TestSupport
import Testing
import VisionLanguageModels

/// Sampling against transformers' logits processors, and its laws.
struct TokenSamplerTests {
  struct Attributes: Decodable {
    struct Case: Decodable {
      var temperature: Double
      var topK: Int
      var topP: Double
      var minP: Double
      var penalty: Double
      var history: [Int]
      var ids: [Int]
      var probabilities: [Double]

      enum CodingKeys: String, CodingKey {
        case temperature, penalty, history, ids, probabilities
        case topK = "top_k"
        case topP = "top_p"
        case minP = "min_p"
      }
    }
    var cases: [Case]
  }

  @Test(arguments: try Fixtures.cases(in: "vlm/sampler"))
  func candidates(_ golden: GoldenCase) throws {
    let logits = try golden.tensor("input.logits")
    let cases = try golden.attributes(Attributes.self).cases
    #expect(cases.count == 10)
    for expected in cases {
      let settings = TokenSampler.Settings(
        temperature: expected.temperature, topK: expected.topK, topP: expected.topP, minP: expected.minP,
        repetitionPenalty: expected.penalty)
      let found = TokenSampler(settings).candidates(logits, history: expected.history)
      #expect(found.map(\.id) == expected.ids)
      for (candidate, probability) in zip(found, expected.probabilities) {
        #expect(abs(candidate.probability - probability) <= golden.tolerance.limit)
      }
    }
  }

  private let logits = Tensor([0.5, 2, -1, 1.5, 2], shape: [5])

  @Test func greedyTakesTheFirstOfTheLargest() {
    var sampler = TokenSampler(TokenSampler.Settings())
    #expect(sampler.next(logits, history: []) == 1)
    var penalised = TokenSampler(TokenSampler.Settings(repetitionPenalty: 3))
    #expect(penalised.next(logits, history: [1, 4]) == 3)
  }

  @Test func drawsFollowTheProbabilitiesAndTheSeed() {
    func draws(_ seed: UInt64) -> [Int] {
      var sampler = TokenSampler(TokenSampler.Settings(temperature: 1, seed: seed))
      return (0..<4000).map { _ in sampler.next(logits, history: []) }
    }
    let first = draws(1)
    #expect(first == draws(1))
    #expect(first != draws(2))
    let candidates = TokenSampler(TokenSampler.Settings(temperature: 1)).candidates(logits, history: [])
    #expect(abs(candidates.reduce(0) { $0 + $1.probability } - 1) < 1e-12)
    for candidate in candidates {
      let share = Double(first.count { $0 == candidate.id }) / 4000
      // Five standard deviations of a share.
      let spread = (candidate.probability * (1 - candidate.probability) / 4000).squareRoot()
      #expect(abs(share - candidate.probability) < 5 * spread)
    }
  }

  @Test func onlyKeptTokensAreDrawn() {
    var sampler = TokenSampler(TokenSampler.Settings(temperature: 2, topK: 2, seed: 7))
    #expect(Set((0..<200).map { _ in sampler.next(logits, history: []) }) == [1, 4])
    var nucleus = TokenSampler(TokenSampler.Settings(temperature: 2, topP: 0, seed: 7))
    #expect(Set((0..<50).map { _ in nucleus.next(logits, history: []) }) == [1])
  }

  @Test(arguments: [
    TokenSampler.Settings(temperature: -1), TokenSampler.Settings(temperature: .nan), TokenSampler.Settings(topK: -1),
    TokenSampler.Settings(topP: 1.1), TokenSampler.Settings(minP: -0.1), TokenSampler.Settings(repetitionPenalty: 0),
  ])
  func problems(_ settings: TokenSampler.Settings) {
    #expect(settings.problem?.contains("expected") == true)
    #expect(TokenSampler.Settings(temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05).problem == nil)
  }
}
