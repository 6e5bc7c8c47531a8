import Foundation
import JSON
import Tensors
import TestSupport
import Testing

@testable import Schedulers

struct SchedulerLawTests {
  @Test(arguments: SchedulerName.all, [1, 2, 5, 20])
  func laws(_ name: SchedulerName, steps: Int) throws { try checkSchedulerLaws(name, steps: steps) }

  @Test(arguments: [SchedulerName(.ddim), SchedulerName(.tcd)], [0.3, 1])
  func lawsOfStochasticChoices(_ name: SchedulerName, eta: Double) throws { try checkSchedulerLaws(name, steps: 7, eta: eta) }

  /// A network that knows the image: whatever the solver, the run ends at the image (or at the level it ends at).
  @Test(arguments: SchedulerName.all.filter { $0.kind != .tcd }, [3, 10, 25])
  func perfectNetworkRecoversTheImage(_ name: SchedulerName, steps: Int) throws {
    var random = TestRandom(seed: 3)
    let shape: Shape = [1, 4, 3, 5]
    let image = random.tensor(shape)
    var source: any NoiseSource = TorchGenerator(seed: 1)
    let epsilon = source.normals(shape: shape)
    var scheduler = try name.makeScheduler(config: lawConfig)
    try scheduler.setTimesteps(numInferenceSteps: steps)
    let start = try scheduler.addNoise(image, noise: epsilon, at: 0)
    let planned = scheduler
    let trace = try walk(&scheduler, sample: start, noise: &source) { input, index in
      let sigma = try calledSigma(planned, at: index)
      let alpha = 1 / (sigma * sigma + 1).squareRoot()
      return input.zip(image) { ($0 - alpha * $1) / (sigma * alpha) }
    }
    let end = try #require(scheduler.sigmas.last)
    let alpha = 1 / (end * end + 1).squareRoot()
    let expected = image.zip(epsilon) { alpha * $0 + alpha * end * $1 }
    let last = try #require(trace.last)
    let comparison = try #require(Comparison(actual: last, expected: expected))
    // LCM's boundary condition keeps 1/40000 of the sample at the last timestep.
    #expect(comparison.maxRelative < (name.kind == .lcm ? 1e-3 : 2e-4), "\(comparison)")
  }

  /// A constant network output makes all solvers of one step's span agree: the exact solution is known.
  @Test(arguments: [SchedulerName(.dpmpp2M), SchedulerName(.dpmpp2S), SchedulerName(.unipc)])
  func constantImageIsSolvedExactly(_ name: SchedulerName) throws {
    var scheduler = try name.makeScheduler(
      config: lawConfig.merging([
        "prediction_type": .string("sample"), "final_sigmas_type": .string("sigma_min"),
      ]))
    try scheduler.setTimesteps(numInferenceSteps: 8)
    var noise: any NoiseSource = TorchGenerator(seed: 1)
    let image = Tensor([0.5, -0.25], shape: [2])
    let epsilon = Tensor([1, -2], shape: [2])
    let start = try scheduler.addNoise(image, noise: epsilon, at: 0)
    let trace = try walk(&scheduler, sample: start, noise: &noise) { _, _ in image }
    let end = try #require(trace.last)
    let sigma = try #require(scheduler.sigmas.last)
    let alpha = 1 / (sigma * sigma + 1).squareRoot()
    let expected = image.zip(epsilon) { alpha * $0 + alpha * sigma * $1 }
    let comparison = try #require(Comparison(actual: end, expected: expected))
    #expect(comparison.maxRelative < 1e-5, "\(comparison)")
  }

  /// Halving the step of an order-k solver divides its error by about 2^k on a smooth problem.
  @Test(arguments: [
    ("euler", 1.0), ("ddim", 1.0), ("heun", 2.0), ("dpm2", 2.0), ("dpmpp_2m", 2.0), ("unipc", 2.0), ("deis", 2.0),
  ])
  func solversConvergeAtTheirOrder(_ solver: (String, Double)) throws {
    // The exact denoiser of a Gaussian of deviation 0.5: x₀ = input · α s² / (α² s² + σ²).
    func end(steps: Int) throws -> Float {
      let spacing: JSONObject =
        solver.0 == "ddim" ? [:] : ["use_exponential_sigmas": .bool(true), "lower_order_final": .bool(false)]
      let ends: JSONObject =
        ["dpmpp_2m", "unipc"].contains(solver.0) ? ["final_sigmas_type": .string("sigma_min")] : [:]
      var scheduler = try SchedulerName(solver.0).makeScheduler(
        config: lawConfig.merging(spacing).merging(ends).merging([
          "prediction_type": .string("epsilon"), "set_alpha_to_one": .bool(false),
        ]))
      try scheduler.setTimesteps(numInferenceSteps: steps)
      let planned = scheduler
      var noise: any NoiseSource = TorchGenerator(seed: 1)
      let deviation: Float = 0.5
      let last = scheduler.timesteps.count - 1
      let top = scheduler.sigmas[0]
      // Start on the same trajectory whatever the first level: x(σ) ∝ √(s² + σ²) in unscaled terms.
      let unscaled = (deviation * deviation + top * top).squareRoot()
      let isScaled = try scheduler.scaleModelInput(Tensor([1], shape: [1]), at: 0)[flat: 0] == 1
      var value = Tensor([isScaled ? unscaled / (1 + top * top).squareRoot() : unscaled], shape: [1])
      // The last step isn't taken: to σ = 0 it has a fixed length, which no step count shortens.
      for index in 0..<last {
        let sigma = try calledSigma(planned, at: index)
        let alpha = 1 / (sigma * sigma + 1).squareRoot()
        let input = try scheduler.scaleModelInput(value, at: index)
        let output = input.map { x in
          let original =
            x * alpha * deviation * deviation / (alpha * alpha * deviation * deviation + sigma * alpha * sigma * alpha)
          return (x - alpha * original) / (sigma * alpha)
        }
        value = try scheduler.step(modelOutput: output, at: index, sample: value, noise: &noise).prevSample
      }
      let low = scheduler.sigmas[last]
      let exact = (deviation * deviation + low * low).squareRoot() / (isScaled ? (1 + low * low).squareRoot() : 1)
      return abs(value[flat: 0] - exact)
    }
    let (coarse, fine) = (try end(steps: 20), try end(steps: 80))
    // Two halvings; half an order of slack for what isn't asymptotic yet.
    #expect(coarse > fine, "\(coarse) \(fine)")
    #expect(Double(coarse / fine) > pow(4, solver.1 - 0.5), "\(coarse) \(fine)")
  }

  @Test func thresholdingBoundsEachImage() throws {
    let clipping = SampleClipping.dynamicThreshold(ratio: 0.5, maximum: 3)
    let sample = Tensor([0, 0.5, -2, 4, 0.1, -0.1, 0.2, 0.3], shape: [2, 4])
    // First image: the median of |x| is 1.25; second: below 1, so only ±1 would clip.
    #expect(clipping.apply(sample).elements == [0, 0.4, -1, 1, 0.1, -0.1, 0.2, 0.3])
    #expect(SampleClipping.clamp(range: 1).apply(sample).elements == [0, 0.5, -1, 1, 0.1, -0.1, 0.2, 0.3])
    #expect(SampleClipping.none.apply(sample).elements == sample.elements)
    #expect(clipping.apply(Tensor([.nan, 1], shape: [1, 2]))[flat: 0].isNaN)
  }

  @Test func multistepCoefficientsOfLMS() {
    // Order 1 is Euler's step; on even nodes the weights are Adams and Bashforth's 3/2, -1/2 and 23/12, -16/12, 5/12.
    let sigmas: [Float] = [4, 3, 2, 1]
    #expect(LMSDiscreteScheduler.coefficients(sigmas, at: 0, order: 1) == [-1])
    let second = LMSDiscreteScheduler.coefficients(sigmas, at: 1, order: 2)
    #expect(abs(second[0] + 1.5) < 1e-12 && abs(second[1] - 0.5) < 1e-12)
    let third = LMSDiscreteScheduler.coefficients(sigmas, at: 2, order: 3)
    for (actual, expected) in zip(third, [-23.0 / 12, 16.0 / 12, -5.0 / 12]) { #expect(abs(actual - expected) < 1e-12) }
  }

  @Test(arguments: [
    (1, 2, true, [1]), (2, 2, true, [1, 1]), (5, 2, true, [1, 2, 1, 2, 1]), (6, 2, true, [1, 2, 1, 2, 1, 1]),
    (6, 2, false, [1, 2, 1, 2, 1, 2]), (6, 3, true, [1, 2, 3, 1, 2, 1]), (7, 3, true, [1, 2, 3, 1, 2, 3, 1]),
    (8, 3, true, [1, 2, 3, 1, 2, 3, 1, 2]), (3, 1, true, [1, 1, 1]), (6, 3, false, [1, 2, 3, 1, 2, 3]),
  ])
  func blocksOfTheSinglestepSolver(_ run: (Int, Int, Bool, [Int])) {
    #expect(DPMSolverSinglestepScheduler.stepOrders(run.0, solverOrder: run.1, lowersFinal: run.2, endsAtZero: false) == run.3)
  }
}
