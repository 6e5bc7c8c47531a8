import Tensors

/// The timesteps and noise levels of the schedulers that come from k-diffusion (Euler, LMS, Heun, DPM2).
///
/// The sample is x₀ + σ ε; the network sees it divided by √(σ² + 1).
struct SigmaPlan: Sendable {
  let spacing: TimestepSpacing
  let stepsOffset: Int
  let sigmaSpacing: SigmaSpacing
  /// Explicit ends for the Karras, exponential and beta spacings.
  private let sigmaRange: SigmaRange
  /// LMS alone ignores `sigma_min` and `sigma_max` in its Karras spacing.
  private let heedsRangeForKarras: Bool

  /// Reads `timestep_spacing`, `steps_offset` and, unless `sigmaSpacing` is given, the `use_…_sigmas` switches.
  init(_ reader: ConfigReader, trainCount: Int, sigmaSpacing: SigmaSpacing? = nil, heedsRangeForKarras: Bool = true)
    throws(SchedulerError)
  {
    spacing = try reader.choice("timestep_spacing", default: .linspace, allowed: TimestepSpacing.allCases)
    stepsOffset = try reader.int("steps_offset", default: 0, in: 0...(trainCount - 1))
    self.sigmaSpacing = if let sigmaSpacing { sigmaSpacing } else { try SigmaSpacing(reader) }
    sigmaRange = try SigmaRange(reader)
    self.heedsRangeForKarras = heedsRangeForKarras
  }

  /// N timesteps and N noise levels in double precision, both falling; the level that the run ends at isn't included.
  ///
  /// The ends of the Karras, exponential and beta spacings are those of the spaced timesteps, so `leading` starts lower.
  func make(_ stepCount: Int, noiseSchedule: NoiseSchedule, roundsKarras: Bool = false) -> (timesteps: [Double], sigmas: [Double])
  {
    let trainingSigmas = noiseSchedule.sigmas
    let timesteps = spacing.fractionalTimesteps(stepCount, trainCount: noiseSchedule.count, offset: stepsOffset)
    let spaced = timesteps.map { NumericArrays.interpolate(trainingSigmas, at: $0) }
    guard sigmaSpacing != .timesteps else { return (timesteps, spaced) }
    return respaced(spaced, count: stepCount, trainingSigmas: trainingSigmas, roundsKarras: roundsKarras)
  }

  /// Replaces N spaced levels by the Karras, exponential or beta spacing between their ends.
  func respaced(_ spaced: [Double], count: Int, trainingSigmas: [Float], roundsKarras: Bool = false)
    -> (timesteps: [Double], sigmas: [Double])
  {
    let heedsRange = sigmaSpacing != .karras || heedsRangeForKarras
    let levels = sigmaSpacing.levels(
      count, from: (heedsRange ? sigmaRange.highest : nil) ?? spaced[0],
      to: (heedsRange ? sigmaRange.lowest : nil) ?? spaced[spaced.count - 1])
    let inverse = SigmaInverse(trainingSigmas: trainingSigmas)
    let inverted = levels.map { inverse.timestep(of: $0) }
    return (roundsKarras && sigmaSpacing == .karras ? inverted.map(\.roundedHalfToEven) : inverted, levels)
  }

  /// What unit noise is scaled by: σ_max, or √(σ_max² + 1) for `leading`.
  func initNoiseSigma(_ sigmas: [Float]) -> Float {
    let highest = sigmas.max() ?? 1
    return spacing == .leading ? (highest * highest + 1).squareRoot() : highest
  }
}

extension Scheduler {
  /// The sample divided by √(σ² + 1).
  func scaledByVariance(_ sample: Tensor, sigma: Float) -> Tensor {
    let divisor = (sigma * sigma + 1).squareRoot()
    return sample.map { $0 / divisor }
  }

  /// x₀ + σ ε.
  func addNoiseBySigma(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    try checkShapes(original, noise, "noise")
    return linearCombination((1, original), (sigmas[index], noise))
  }
}
