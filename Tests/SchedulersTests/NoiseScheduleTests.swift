import Foundation
import Goldens
import JSON
import Tensors
import TestSupport
import Testing

@testable import Schedulers

/// The forward process, and the array makers and quantiles below it.
struct NoiseScheduleTests {
  private struct Configs: Decodable {
    var configs: [String: JSONObject]
  }

  private func schedule(_ values: JSONObject, extra: [BetaSchedule] = BetaSchedule.allCases) throws
    -> NoiseSchedule
  {
    try NoiseSchedule(
      ConfigReader(className: "Test", config: SchedulerConfig(values: values)), extraSchedules: extra, rescaling: .exact)
  }

  @Test func alphasOfDiffusers() throws {
    let golden = try GoldenCase(folder: Fixtures.folder.appendingPathComponent("schedulers/shared/alphas-cumprod"))
    let attributes: Configs = try golden.attributes()
    #expect(attributes.configs.count == 9)
    for (name, values) in attributes.configs {
      let expected = try golden.tensor("output.\(name)").elements
      let actual = try schedule(values).alphasCumprod
      #expect(actual.count == expected.count, "\(name)")
      // Each entry against itself: the last ones are a thousandth of the first.
      for (index, (a, e)) in zip(actual, expected).enumerated() {
        #expect(abs(a - e) <= Float(golden.tolerance.limit) * e, "\(name)[\(index)]: \(a), expected \(e)")
      }
    }
  }

  private struct Quantiles: Decodable {
    var points: [Double]
    var parameters: [[Double]]
    var quantiles: [[Double]]
  }

  @Test func betaQuantilesOfSciPy() throws {
    let golden = try GoldenCase(folder: Fixtures.folder.appendingPathComponent("schedulers/shared/beta-quantiles"))
    let attributes: Quantiles = try golden.attributes()
    for (parameters, row) in zip(attributes.parameters, attributes.quantiles) {
      for (point, expected) in zip(attributes.points, row) {
        let actual = IncompleteBeta.quantile(point, parameters[0], parameters[1])
        #expect(abs(actual - expected) <= golden.tolerance.limit, "\(parameters) at \(point): \(actual), expected \(expected)")
      }
    }
  }

  @Test(arguments: [0.1, 0.25, 0.5, 0.9])
  func quantileInvertsTheDistribution(_ p: Double) {
    #expect(abs(IncompleteBeta.regularized(IncompleteBeta.quantile(p, 0.6, 0.6), 0.6, 0.6) - p) < 1e-13)
    // Closed forms: uniform, and I_x(2, 1) = x².
    #expect(abs(IncompleteBeta.regularized(p, 1, 1) - p) < 1e-14)
    #expect(abs(IncompleteBeta.quantile(p, 2, 1) - p.squareRoot()) < 1e-14)
  }

  @Test func zeroTerminalSNREndsAtZero() throws {
    let plain = try schedule(["beta_schedule": .string("scaled_linear")])
    let rescaled = try schedule(["beta_schedule": .string("scaled_linear"), "rescale_betas_zero_snr": .bool(true)])
    #expect(rescaled.hasZeroTerminalSNR && !plain.hasZeroTerminalSNR)
    #expect(rescaled.alphasCumprod.last == 0)
    #expect(abs(rescaled.alphasCumprod[0] - plain.alphasCumprod[0]) < 1e-6)
  }

  @Test func arangeAddsAnEntryByRounding() {
    // The step counts up to 1000 at which NumPy's arange gives one entry more.
    let longer = (1...1000).filter { NumericArrays.arangeDown(from: 1000, step: 1000 / Double($0)).count != $0 }
    #expect(longer.count == 62)
    #expect(longer.prefix(5) == [61, 103, 121, 122, 201])
    #expect(TimestepSpacing.trailing.wholeTimesteps(61, trainCount: 1000, offset: 1).suffix(2) == [15, -1])
  }

  @Test func interpolationIsConstantBeyondTheEnds() {
    let values: [Float] = [1, 3, 7]
    #expect(NumericArrays.interpolate(values, at: -1) == 1)
    #expect(NumericArrays.interpolate(values, at: 0.5) == 2)
    #expect(NumericArrays.interpolate(values, at: 1) == 3)
    #expect(NumericArrays.interpolate(values, at: 2) == 7)
    #expect(NumericArrays.interpolate(values, at: 9) == 7)
  }

  @Test func linspaceQuirks() {
    #expect(NumericArrays.linspace(0, 999, count: 1) == [0])
    #expect(NumericArrays.linspace(0, 999, count: 2) == [0, 999])
    #expect(NumericArrays.linspace(0, 50, count: 4, includesEnd: false) == [0, 12.5, 25, 37.5])
    #expect(NumericArrays.linspaceFloat(2, 3, count: 1) == [2])
  }

  @Test func sigmaInverseFindsTrainingSteps() throws {
    let sigmas = try schedule(["beta_schedule": .string("scaled_linear")]).sigmas
    let inverse = SigmaInverse(trainingSigmas: sigmas)
    for timestep in [0, 1, 500, 998, 999] {
      #expect(abs(inverse.timestep(of: Double(sigmas[timestep])) - Double(timestep)) < 1e-3)
    }
    #expect(inverse.timestep(of: 1e9) == 999)
    #expect(inverse.timestep(of: 0) == 0)
  }

  @Test(
    arguments: [
      ["beta_end": JSONValue.number(2)], ["beta_start": .number(-0.1)], ["beta_start": .string("low")],
      ["num_train_timesteps": .number(0)], ["num_train_timesteps": .number(1)], ["num_train_timesteps": .number(12.5)],
      ["num_train_timesteps": .number(1e18)], ["num_train_timesteps": .bool(true)], ["beta_schedule": .string("cubic")],
      ["beta_schedule": .number(1)], ["trained_betas": .array([])], ["trained_betas": .array([.number(0.1), .number(1)])],
      ["trained_betas": .array([.number(0.1), .string("x")])], ["trained_betas": .number(0.1)],
      ["trained_betas": .array([.number(.nan), .number(0.1)])], ["rescale_betas_zero_snr": .string("yes")],
      ["beta_start": .number(0.9), "beta_end": .number(0.99)],
    ] as [JSONObject])
  func badSchedulesAreRefused(_ values: JSONObject) {
    #expect {
      try schedule(values)
    } throws: { error in
      (error as? SchedulerError)?.code == .invalidConfig
    }
  }

  @Test func otherClassesSchedulesAreRefused() {
    #expect(throws: SchedulerError.self) { try schedule(["beta_schedule": .string("sigmoid")], extra: []) }
  }
}
