import Foundation
import Tensors

/// Denoising diffusion probabilistic models: ancestral sampling of the reverse Markov chain.
///
/// Source: Ho et al. 2020, arXiv:2006.11239, eq. 6-7 (posterior mean and variance). Noise is drawn at every step but one
/// at timestep 0. Networks that predict a variance aren't supported.
struct DDPMScheduler: Scheduler {
  static let className = "DDPMScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  let initNoiseSigma: Float = 1

  /// The deviation of the fresh noise.
  private enum Variance: String, CaseIterable {
    /// The posterior variance.
    case fixedSmall = "fixed_small"
    /// The same, by its logarithm.
    case fixedSmallLog = "fixed_small_log"
    /// β.
    case fixedLarge = "fixed_large"
  }

  private let spacing: TimestepSpacing
  private let stepsOffset: Int
  private let clipping: SampleClipping
  private let variance: Variance

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, extraSchedules: [.sigmoid, .laplace], rescaling: .exact)
    predictionType = try PredictionType(reader)
    spacing = try reader.choice("timestep_spacing", default: .leading, allowed: TimestepSpacing.allCases)
    stepsOffset = try reader.int("steps_offset", default: 0, in: 0...(noiseSchedule.count - 1))
    clipping = try SampleClipping(reader, clipsByDefault: true)
    try reader.refuseLearnedVariance()
    variance = try reader.choice("variance_type", default: .fixedSmall, allowed: Variance.allCases)
  }

  var sigmas: [Float] { trainingSigmas(final: 1) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let planned = spacing.wholeTimesteps(numInferenceSteps, trainCount: noiseSchedule.count, offset: stepsOffset)
    try checkTrained(planned)
    timesteps = planned
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return sample
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: nil, modelOutput: modelOutput, sample: sample)
    let alphaBar = try noiseSchedule.alphaCumprod(at: Int(timesteps[index]))
    let next = index + 1 < timesteps.count ? Int(timesteps[index + 1]) : -1
    let alphaBarPrevious = try next >= 0 ? noiseSchedule.alphaCumprod(at: next) : 1
    let alphaStep = alphaBar / alphaBarPrevious
    let betaStep = 1 - alphaStep
    let original = clipping.apply(
      predictionType.originalSample(
        modelOutput: modelOutput, sample: sample, alpha: alphaBar.squareRoot(), sigma: (1 - alphaBar).squareRoot()))
    var previous = linearCombination(
      (alphaBarPrevious.squareRoot() * betaStep / (1 - alphaBar), original),
      (alphaStep.squareRoot() * (1 - alphaBarPrevious) / (1 - alphaBar), sample))
    if timesteps[index] > 0 {
      let posterior = max((1 - alphaBarPrevious) / (1 - alphaBar) * betaStep, 1e-20)
      let deviation: Float =
        switch variance {
        case .fixedSmall: posterior.squareRoot()
        case .fixedSmallLog: exp(0.5 * log(posterior))
        case .fixedLarge: betaStep.squareRoot()
        }
      previous = linearCombination((1, previous), (deviation, noise.normals(shape: sample.shape)))
    }
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByAlpha(original, noise: noise, at: index)
  }
}
