import Tensors

/// DPM-Solver-2 to a lower noise level than the next, then fresh noise up to it ("DPM2 a").
///
/// Source: as ``KDPM2DiscreteScheduler``, with the ancestral split of ``EulerAncestralDiscreteScheduler``. A run of N
/// steps walks 2N-1 timesteps; noise is drawn after second calls, so not in the last step.
struct KDPM2AncestralDiscreteScheduler: Scheduler {
  static let className = "KDPM2AncestralDiscreteScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 2
  private(set) var timesteps: [Double] = []
  /// As diffusers lists them: the level of a second call is the one that its step ends at, and the last 0 comes thrice.
  private(set) var sigmas: [Float] = []

  private let plan: SigmaPlan
  /// The level at which the network is called, for each timestep.
  private var calledSigmas: [Float] = []
  /// The start of a step whose second call is due.
  private var pending: Tensor?
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, betas: (0.00085, 0.012))
    predictionType = try PredictionType(reader, allowed: [.epsilon, .vPrediction])
    plan = try SigmaPlan(reader, trainCount: noiseSchedule.count)
  }

  var initNoiseSigma: Float { plan.initNoiseSigma(sigmas.isEmpty ? noiseSchedule.sigmas : sigmas) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = plan.make(numInferenceSteps, noiseSchedule: noiseSchedule, roundsKarras: true)
    let steps = levels.map { Float($0) }
    let inverse = SigmaInverse(trainingSigmas: noiseSchedule.sigmas)
    timesteps = [planned[0]]
    calledSigmas = [steps[0]]
    for index in steps.indices.dropFirst() {
      let down = ancestralLevels(from: steps[index - 1], to: steps[index]).down
      let middle = geometricMiddle(steps[index - 1], down)
      timesteps += [inverse.timestep(of: Double(middle)), planned[index]]
      calledSigmas += [middle, steps[index]]
    }
    sigmas = doubledAfterFirst(steps) + [0, 0, 0]
    pending = nil
    lastIndex = nil
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return scaledByVariance(sample, sigma: calledSigmas[index])
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: lastIndex, modelOutput: modelOutput, sample: sample)
    try checkStage(index, hasPending: pending != nil)
    lastIndex = index
    let sigma = calledSigmas[index]
    let original = predictionType.originalSample(modelOutput: modelOutput, unscaledSample: sample, sigma: sigma)
    let slope = sample.zip(original) { ($0 - $1) / sigma }
    guard let start = pending else {
      let isLast = index + 1 == timesteps.count
      pending = isLast ? nil : sample
      let stride = (isLast ? 0 : calledSigmas[index + 1]) - sigma
      return SchedulerStep(prevSample: linearCombination((1, sample), (stride, slope)), predOriginalSample: original)
    }
    pending = nil
    let (up, down) = ancestralLevels(from: sigmas[index - 1], to: sigmas[index])
    let lowered = linearCombination((1, start), (down - sigmas[index - 1], slope))
    let previous = linearCombination((1, lowered), (up, noise.normals(shape: sample.shape)))
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }
}
