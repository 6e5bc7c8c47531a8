import Tensors

/// Heun's second-order method on the probability-flow ODE in σ.
///
/// Source: Karras et al. 2022, arXiv:2206.00364, algorithm 1. A run of N steps walks 2N-1 timesteps: an Euler step to the
/// next level, then a second call there whose slope is averaged with the first; the last step is Euler's alone.
struct HeunDiscreteScheduler: Scheduler {
  static let className = "HeunDiscreteScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 2
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []

  private let plan: SigmaPlan
  private let clipping: SampleClipping
  /// The start and slope of a step whose second call is due.
  private var pending: (sample: Tensor, slope: Tensor)?
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, betas: (0.00085, 0.012), extraSchedules: [.exp])
    predictionType = try PredictionType(reader)
    plan = try SigmaPlan(reader, trainCount: noiseSchedule.count)
    clipping = try SampleClipping(reader, clipsByDefault: false, knowsThresholding: false)
  }

  var initNoiseSigma: Float { plan.initNoiseSigma(sigmas.isEmpty ? noiseSchedule.sigmas : sigmas) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = plan.make(numInferenceSteps, noiseSchedule: noiseSchedule)
    timesteps = doubledAfterFirst(planned.map { Double(Float($0)) })
    sigmas = doubledAfterFirst(levels.map { Float($0) }) + [0]
    pending = nil
    lastIndex = nil
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return scaledByVariance(sample, sigma: sigmas[index])
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: lastIndex, modelOutput: modelOutput, sample: sample)
    try checkStage(index, hasPending: pending != nil)
    lastIndex = index
    let sigma = sigmas[index]
    let original = clipping.apply(
      predictionType.originalSample(modelOutput: modelOutput, unscaledSample: sample, sigma: sigma))
    let slope = sample.zip(original) { ($0 - $1) / sigma }
    guard let started = pending else {
      if index + 1 < timesteps.count { pending = (sample, slope) }
      let stride = sigmas[index + 1] - sigma
      return SchedulerStep(prevSample: linearCombination((1, sample), (stride, slope)), predOriginalSample: original)
    }
    pending = nil
    let stride = sigma - sigmas[index - 1]
    let mean = started.slope.zip(slope) { ($0 + $1) / 2 }
    return SchedulerStep(prevSample: linearCombination((1, started.sample), (stride, mean)), predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }
}

/// `[a, b, c]` as `[a, b, b, c, c]`.
func doubledAfterFirst<Element>(_ elements: [Element]) -> [Element] {
  elements.prefix(1) + elements.dropFirst().flatMap { [$0, $0] }
}

extension Scheduler {
  /// The two-call schedulers make first calls at even entries and second calls at odd ones.
  func checkStage(_ index: Int, hasPending: Bool) throws(SchedulerError) {
    guard (index % 2 == 1) == hasPending else {
      throw SchedulerError(
        .invalidCall, "\(Self.className): index \(index): expected a run to start at an even entry, see startIndex")
    }
  }
}
