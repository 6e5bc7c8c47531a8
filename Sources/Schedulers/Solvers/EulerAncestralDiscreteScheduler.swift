import Tensors

/// Euler's method to a lower noise level than the next, then fresh noise up to it ("Euler a").
///
/// Source: Song et al. 2020, arXiv:2011.13456 (ancestral sampling), in the form of k-diffusion. Noise is drawn at every
/// step, also at the last one where it's multiplied by 0, as in diffusers.
struct EulerAncestralDiscreteScheduler: Scheduler {
  static let className = "EulerAncestralDiscreteScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []

  private let plan: SigmaPlan

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, rescaling: .finite)
    predictionType = try PredictionType(reader, allowed: [.epsilon, .vPrediction])
    plan = try SigmaPlan(reader, trainCount: noiseSchedule.count, sigmaSpacing: .timesteps)
  }

  var initNoiseSigma: Float { plan.initNoiseSigma(sigmas.isEmpty ? noiseSchedule.sigmas : sigmas) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = plan.make(numInferenceSteps, noiseSchedule: noiseSchedule)
    timesteps = planned
    sigmas = levels.map { Float($0) } + [0]
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return scaledByVariance(sample, sigma: sigmas[index])
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: nil, modelOutput: modelOutput, sample: sample)
    let sigma = sigmas[index]
    let original = predictionType.originalSample(modelOutput: modelOutput, unscaledSample: sample, sigma: sigma)
    let (up, down) = ancestralLevels(from: sigma, to: sigmas[index + 1])
    let stride = down - sigma
    let lowered = sample.zip(original) { $0 + ($0 - $1) / sigma * stride }
    let previous = linearCombination((1, lowered), (up, noise.normals(shape: sample.shape)))
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }
}

/// Splits a step from one noise level to a lower one: down to `down`, then up to it by noise of deviation `up`.
///
/// up² = σ_to² (σ_from² - σ_to²) / σ_from², down² = σ_to² - up².
func ancestralLevels(from: Float, to: Float) -> (up: Float, down: Float) {
  let up = (to * to * (from * from - to * to) / (from * from)).squareRoot()
  return (up, (to * to - up * up).squareRoot())
}
