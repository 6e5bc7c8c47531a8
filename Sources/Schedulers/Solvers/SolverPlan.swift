import Foundation
import Tensors

/// A noise level seen three ways: the sample at it is α x₀ + σ ε, with λ = log(α/σ) half the log-SNR.
struct SolverPoint {
  let alpha: Float
  let sigma: Float
  let lambda: Float

  /// Makes the point from σ/α.
  init(_ ratio: Float) {
    alpha = 1 / (ratio * ratio + 1).squareRoot()
    sigma = ratio * alpha
    lambda = log(alpha) - log(sigma)
  }
}

/// The timesteps and noise levels of the exponential-integrator family (DPM-Solver, UniPC, DEIS).
///
/// The sample is kept at unit variance; the Karras, exponential and beta spacings always span the whole training range.
struct SolverPlan: Sendable {
  /// How a level's (fractional) timestep becomes a whole one.
  enum Rounding {
    /// Karras and lu are rounded first, the others cut.
    case roundsKarras
    /// All are cut.
    case truncates
  }

  let spacing: TimestepSpacing
  let stepsOffset: Int
  let sigmaSpacing: SigmaSpacing
  let rounding: Rounding
  private let sigmaRange: SigmaRange
  /// Training steps that `leading` and `linspace` may use; fewer when a log-SNR floor is set.
  private var usableCount: Int

  /// Reads the spacing keys and refuses flow matching.
  init(
    _ reader: ConfigReader, schedule: NoiseSchedule, spacing: TimestepSpacing? = nil, allowsLu: Bool = false,
    rounding: Rounding = .roundsKarras
  ) throws(SchedulerError) {
    self.spacing =
      if let spacing { spacing } else {
        try reader.choice("timestep_spacing", default: .linspace, allowed: TimestepSpacing.allCases)
      }
    stepsOffset = try spacing == nil ? reader.int("steps_offset", default: 0, in: 0...(schedule.count - 1)) : 0
    sigmaSpacing = try SigmaSpacing(reader, allowsLu: allowsLu)
    self.rounding = rounding
    usableCount = schedule.count
    sigmaRange = try SigmaRange(reader)
    try reader.refuse("use_flow_sigmas", because: "flow matching isn't supported; Stable Diffusion 1, 2 and XL don't use it")
    try reader.refuse("use_dynamic_shifting", because: "flow matching isn't supported; Stable Diffusion 1, 2 and XL don't use it")
  }

  /// Reads `lambda_min_clipped`: training steps whose log-SNR is below it aren't used.
  mutating func readLogSNRFloor(_ reader: ConfigReader, schedule: NoiseSchedule) throws(SchedulerError) {
    guard let floor = try reader.optionalDouble("lambda_min_clipped"), floor != -.infinity else { return }
    // log(α/σ) falls with the timestep, so the ones below the floor are the last ones.
    let below = schedule.alphasCumprod.filter { log($0.squareRoot()) - log((1 - $0).squareRoot()) < Float(floor) }.count
    guard below < schedule.count else {
      throw SchedulerError(.invalidConfig, "\(reader.className): lambda_min_clipped: no training step is left above \(floor)")
    }
    usableCount = schedule.count - below
  }

  /// N whole timesteps and N noise levels, both falling; the level that the run ends at isn't included.
  func make(_ stepCount: Int, schedule: NoiseSchedule, className: String) throws(SchedulerError)
    -> (timesteps: [Double], sigmas: [Double])
  {
    let trainingSigmas = schedule.sigmas
    guard sigmaSpacing != .timesteps else {
      let timesteps = spacing.openTimesteps(
        stepCount, trainCount: schedule.count, lastTimestep: usableCount, offset: stepsOffset)
      let levels = timesteps.map { NumericArrays.interpolate(trainingSigmas, at: $0) }
      guard Swift.zip(levels, levels.dropFirst()).allSatisfy({ $0 > $1 }) else {
        throw SchedulerError(
          .invalidArgument,
          "\(className): steps: \(stepCount) steps of \(spacing.rawValue) spacing visit a training step twice; use fewer steps")
      }
      return (timesteps, levels)
    }
    let levels = sigmaSpacing.levels(
      stepCount, from: sigmaRange.highest ?? Double(trainingSigmas[trainingSigmas.count - 1]),
      to: sigmaRange.lowest ?? Double(trainingSigmas[0]))
    let inverse = SigmaInverse(trainingSigmas: trainingSigmas)
    let timesteps = levels.map { level in
      let timestep = inverse.timestep(of: level)
      let rounds = rounding == .roundsKarras && (sigmaSpacing == .karras || sigmaSpacing == .lu)
      return (rounds ? timestep.roundedHalfToEven : timestep).rounded(.towardZero)
    }
    return (timesteps, levels)
  }
}

extension Scheduler {
  /// α x₀ + σ ε with α² + σ² = 1.
  func addNoiseByPoint(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    try checkShapes(original, noise, "noise")
    let point = SolverPoint(sigmas[index])
    return linearCombination((point.alpha, original), (point.sigma, noise))
  }
}
