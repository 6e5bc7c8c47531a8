import Tensors

/// Trajectory consistency sampling: jump below the next timestep, then add noise up to it.
///
/// Source: Zheng et al. 2024, arXiv:2402.19159, algorithm 4; η is the paper's γ. Nothing is clipped, as in diffusers.
/// Noise is drawn at every step but the last, and none for η = 0.
struct TCDScheduler: Scheduler {
  static let className = "TCDScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  let initNoiseSigma: Float = 1
  /// How far below the next timestep to jump, 0 (not at all) to 1 (to the noise-free estimate).
  ///
  /// The authors advise 0.3; pipelines of diffusers pass 0 unless told otherwise.
  var eta: Double = 0

  private let trained: ConsistencyTimesteps

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, betas: (0.00085, 0.012), schedule: .scaledLinear, rescaling: .exact)
    predictionType = try PredictionType(reader)
    trained = try ConsistencyTimesteps(reader, trainCount: noiseSchedule.count)
  }

  var sigmas: [Float] { trainingSigmas(final: noiseSchedule.alphasCumprod[0]) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    timesteps = try trained.make(numInferenceSteps, trainCount: noiseSchedule.count, className: Self.className)
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
    let isLast = index + 1 == timesteps.count
    let next = isLast ? 0 : Int(timesteps[index + 1])
    let jumpTarget = Int((Float(1 - eta) * Float(next)).rounded(.down))
    let alphaBar = try noiseSchedule.alphaCumprod(at: Int(timesteps[index]))
    let alphaBarNext = try noiseSchedule.alphaCumprod(at: next)
    let alphaBarJump = try noiseSchedule.alphaCumprod(at: jumpTarget)
    let alpha = alphaBar.squareRoot()
    let sigma = (1 - alphaBar).squareRoot()
    let original = predictionType.originalSample(modelOutput: modelOutput, sample: sample, alpha: alpha, sigma: sigma)
    let epsilon = predictionType.noise(modelOutput: modelOutput, sample: sample, alpha: alpha, sigma: sigma)
    var previous = linearCombination((alphaBarJump.squareRoot(), original), ((1 - alphaBarJump).squareRoot(), epsilon))
    if eta > 0, !isLast {
      let kept = alphaBarNext / alphaBarJump
      previous = linearCombination(
        (kept.squareRoot(), previous), ((1 - kept).squareRoot(), noise.normals(shape: sample.shape)))
    }
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByAlpha(original, noise: noise, at: index)
  }
}
