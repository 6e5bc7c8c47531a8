import Foundation
import Goldens
import Tensors
import TestSupport
import Testing

@testable import Schedulers

/// Tables and trajectories of diffusers.
struct SchedulerGoldenTests {
  static func cases(_ op: String) throws -> [GoldenCase] { try Fixtures.cases(in: "schedulers").filter { $0.op == op } }

  @Test func everyKindHasItsGoldens() throws {
    let ids = Set(try Fixtures.cases(in: "schedulers").map(\.id))
    for kind in SchedulerName.Kind.allCases {
      #expect(ids.contains("schedulers/\(kind.rawValue)/tables"))
      #expect(ids.contains("schedulers/\(kind.rawValue)/trajectories"))
    }
  }

  @Test(arguments: try cases("schedule"))
  func tables(_ golden: GoldenCase) throws {
    let attributes: SchedulerRuns = try golden.attributes()
    let timesteps = try golden.tensor("output.timesteps").elements
    let sigmas = attributes.runs.contains { $0.sigmaCount != nil } ? try golden.tensor("output.sigmas").elements : []
    var timestepOffset = 0
    var sigmaOffset = 0
    for run in attributes.runs {
      var scheduler = try run.makeScheduler(attributes.kind)
      if run.refused == true {
        #expect(throws: SchedulerError.self, "\(run)") { try scheduler.setTimesteps(numInferenceSteps: run.steps) }
        continue
      }
      try scheduler.setTimesteps(numInferenceSteps: run.steps)
      let count = try #require(run.count)
      let expected = timesteps[timestepOffset..<(timestepOffset + count)]
      timestepOffset += count
      #expect(scheduler.timesteps.count == count, "\(run)")
      #expect(scheduler.order == run.order, "\(run)")
      for (actual, wanted) in zip(scheduler.timesteps, expected) {
        // Whole timesteps are exact; fractional ones come from f32 logarithms that are 0.003 apart per training step.
        let limit = wanted == wanted.rounded() && actual == actual.rounded() ? 0 : 2e-3
        #expect(abs(actual - Double(wanted)) <= limit, "timestep \(actual), expected \(wanted); \(run)")
      }
      let initNoiseSigma = try #require(run.initNoiseSigma)
      #expect(abs(scheduler.initNoiseSigma - initNoiseSigma) <= 1e-5 * initNoiseSigma, "\(run)")
      if let sigmaCount = run.sigmaCount {
        let expected = sigmas[sigmaOffset..<(sigmaOffset + sigmaCount)]
        sigmaOffset += sigmaCount
        #expect(scheduler.sigmas.count == sigmaCount, "\(run)")
        for (actual, wanted) in zip(scheduler.sigmas, expected) {
          #expect(abs(actual - wanted) <= Float(golden.tolerance.limit) * wanted, "sigma \(actual), expected \(wanted); \(run)")
        }
      } else {
        #expect(scheduler.sigmas.count == count + 1, "\(run)")
      }
    }
    #expect(timestepOffset == timesteps.count && sigmaOffset == sigmas.count)
  }

  @Test(arguments: try cases("scheduler"))
  func trajectories(_ golden: GoldenCase) throws {
    let attributes: SchedulerRuns = try golden.attributes()
    let noise = try golden.tensor("input.noise")
    let original = try golden.tensor("input.original")
    let bias = try golden.tensor("input.bias")
    var worst = 0.0
    for (number, run) in attributes.runs.enumerated() {
      var scheduler = try run.makeScheduler(attributes.kind)
      try scheduler.setTimesteps(numInferenceSteps: run.steps)
      var source = RandomSource.torch.makeNoiseSource(seed: run.seed ?? 0)
      var sample = noise.map { $0 * scheduler.initNoiseSigma }
      var start = 0
      var trace: [Tensor] = []
      if let strength = run.strength {
        start = try scheduler.startIndex(numInferenceSteps: run.steps, strength: strength)
        sample = try scheduler.addNoise(original, noise: noise, at: start)
        trace = [sample]
      }
      #expect(start == run.start)
      trace += try walk(&scheduler, from: start, sample: sample, noise: &source) { input, index in
        linearNetwork(input, bias: bias, index: index)
      }
      let expected = try golden.tensor("output.\(number)")
      let actual = Tensor.concatenated(trace)
      try #require(actual.shape == expected.shape, "\(run): \(actual.shape), expected \(expected.shape)")
      // Each step against its own scale, so that small late samples aren't hidden by large early ones.
      for row in 0..<expected.shape[0] {
        let mismatch = golden.tolerance.mismatch(actual: actual.slice(row..<(row + 1)), expected: expected.slice(row..<(row + 1)))
        #expect(mismatch == nil, "entry \(row) of \(run): \(mismatch ?? "")")
        if mismatch != nil { break }
        worst = max(
          worst,
          Comparison(actual: actual.slice(row..<(row + 1)), expected: expected.slice(row..<(row + 1)))?.maxRelative ?? .infinity)
      }
    }
    if ProcessInfo.processInfo.environment["GENBENCH_SHOW_ERRORS"] != nil { print("\(golden.id): worst relative \(worst)") }
  }
}
