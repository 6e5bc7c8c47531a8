import Foundation
import Measurement
import Testing

@Suite struct StatisticsTests {
  // numpy.quantile, numpy.std(ddof=1), scipy.stats.median_abs_deviation of [3, 1, 4, 1, 5, 9, 2, 6] (NumPy 2.4, SciPy).
  private let digits = [3.0, 1, 4, 1, 5, 9, 2, 6]

  @Test func quantilesEqualNumPy() {
    #expect(Statistics.median(digits) == 3.5)
    #expect(Statistics.quantile(digits, 0.25) == 1.75)
    #expect(abs((Statistics.quantile(digits, 0.9) ?? 0) - 6.9) < 1e-12)
    #expect(Statistics.quantile(digits, 0) == 1 && Statistics.quantile(digits, 1) == 9)
    #expect(Statistics.median([2]) == 2)
  }

  @Test func spreadsEqualNumPyAndSciPy() {
    #expect(Statistics.medianAbsoluteDeviation(digits) == 2)
    #expect(abs((Statistics.standardDeviation(digits) ?? 0) - 2.748376143938713) < 1e-12)
    #expect(Statistics.mean(digits) == 3.875)
  }

  @Test func tooFewSamplesSayNothing() {
    #expect(Statistics.median([]) == nil && Statistics.mean([]) == nil && Statistics.medianAbsoluteDeviation([]) == nil)
    #expect(Statistics.standardDeviation([1]) == nil)
    #expect(Statistics.medianInterval([1, 2, 3, 4]) == nil)
    #expect(Statistics.quantile(digits, 1.5) == nil && Statistics.quantile(digits, .nan) == nil)
  }

  @Test func theIntervalIsReproducibleAndHoldsTheMedian() throws {
    let interval = try #require(Statistics.medianInterval(digits, seed: 3))
    #expect(interval == Statistics.medianInterval(digits, seed: 3))
    #expect(interval.contains(3.5) && interval.lowerBound >= 1 && interval.upperBound <= 9)
    #expect(Statistics.medianInterval([5, 5, 5, 5, 5]) == 5...5)
  }

  /// A 95 % interval must miss the true median about once in twenty; more than one in eight would be a mistake.
  @Test func theIntervalCoversTheTrueMedian() {
    var random = SplitMix64(seed: 11)
    var hits = 0
    for trial in 0..<400 {
      let sample = (0..<25).map { _ in Double.random(in: 0...1, using: &random) }
      if Statistics.medianInterval(sample, resamples: 400, seed: UInt64(trial))?.contains(0.5) == true { hits += 1 }
    }
    #expect(hits >= 350 && hits < 400)
  }

  @Test func percentilesNeedEnoughSamples() {
    #expect(Summary(digits).percentiles.keys.sorted() == ["50"])
    #expect(Summary((0..<20).map(Double.init)).percentiles.keys.sorted() == ["50", "90"])
    #expect(Summary((0..<200).map(Double.init)).percentiles.keys.sorted() == ["50", "90", "99"])
    #expect(Summary([]).percentiles.isEmpty)
  }

  @Test func whatIsUnknownIsWrittenAsNull() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(Summary([7])), as: UTF8.self)
    #expect(
      text
        == #"{"ci":null,"cv":null,"mad":0,"max":7,"mean":7,"median":7,"min":7,"n":1,"outliers_mild":0,"outliers_severe":0,"percentiles":{"50":7},"stddev":null}"#
    )
    #expect(try JSONDecoder().decode(Summary.self, from: Data(text.utf8)) == Summary([7]))
    #expect(try JSONDecoder().decode(Summary.self, from: Data(#"{"n":0,"percentiles":{}}"#.utf8)).median == nil)
  }

  @Test func splitMixEqualsTheAuthorsNumbers() {
    var random = SplitMix64(seed: 1_234_567)
    #expect(random.next() == 6_457_827_717_110_365_317)
    #expect(random.next() == 3_203_168_211_198_807_973)
  }
}
