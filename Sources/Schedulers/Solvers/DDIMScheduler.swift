import Tensors

/// Denoising diffusion implicit models: first order, deterministic for η = 0.
///
/// Source: Song et al. 2020, arXiv:2010.02502, eq. 12 and 16. As in diffusers, the step length in training steps is
/// ⌊T/N⌋ whatever the spacing, so `linspace` and `trailing` don't land exactly on the next timestep.
struct DDIMScheduler: Scheduler {
  static let className = "DDIMScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  let initNoiseSigma: Float = 1
  /// The amount of fresh noise, 0 (none) to 1 (as DDPM); pipelines of diffusers pass 0 unless told otherwise.
  var eta: Double = 0

  private let spacing: TimestepSpacing
  private let stepsOffset: Int
  private let clipping: SampleClipping
  private let finalAlphaCumprod: Float
  private var stepCount = 1

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, rescaling: .exact)
    predictionType = try PredictionType(reader)
    spacing = try reader.choice("timestep_spacing", default: .leading, allowed: TimestepSpacing.allCases)
    stepsOffset = try reader.int("steps_offset", default: 0, in: 0...(noiseSchedule.count - 1))
    clipping = try SampleClipping(reader, clipsByDefault: true)
    finalAlphaCumprod = try reader.bool("set_alpha_to_one", default: true) ? 1 : noiseSchedule.alphasCumprod[0]
  }

  var sigmas: [Float] { trainingSigmas(final: finalAlphaCumprod) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let planned = spacing.wholeTimesteps(numInferenceSteps, trainCount: noiseSchedule.count, offset: stepsOffset)
    try checkTrained(planned)
    timesteps = planned
    stepCount = numInferenceSteps
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
    let timestep = Int(timesteps[index])
    let previous = timestep - noiseSchedule.count / stepCount
    let alphaBar = try noiseSchedule.alphaCumprod(at: timestep)
    let alphaBarPrevious = try previous >= 0 ? noiseSchedule.alphaCumprod(at: previous) : finalAlphaCumprod
    let alpha = alphaBar.squareRoot()
    let sigma = (1 - alphaBar).squareRoot()
    let original = clipping.apply(
      predictionType.originalSample(modelOutput: modelOutput, sample: sample, alpha: alpha, sigma: sigma))
    let epsilon = predictionType.noise(modelOutput: modelOutput, sample: sample, alpha: alpha, sigma: sigma)

    let variance = (1 - alphaBarPrevious) / (1 - alphaBar) * (1 - alphaBar / alphaBarPrevious)
    let deviation = Float(eta) * variance.squareRoot()
    // For η = 1 at zero SNR the difference is 0 up to rounding; diffusers can get NaN there.
    let direction = max(1 - alphaBarPrevious - deviation * deviation, 0).squareRoot()
    var previousSample = linearCombination((alphaBarPrevious.squareRoot(), original), (direction, epsilon))
    if eta > 0 {
      previousSample = linearCombination((1, previousSample), (deviation, noise.normals(shape: sample.shape)))
    }
    return SchedulerStep(prevSample: previousSample, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByAlpha(original, noise: noise, at: index)
  }
}
