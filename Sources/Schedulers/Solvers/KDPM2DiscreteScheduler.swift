import Foundation
import Tensors

/// DPM-Solver-2 in σ: the slope at the geometric middle of a step carries the whole step ("DPM2").
///
/// Source: Karras et al. 2022, arXiv:2206.00364, algorithm 2 with the midpoint rule, as in k-diffusion. A run of N steps
/// walks 2N-1 timesteps; the last step is Euler's. No `sample` prediction, as in diffusers.
struct KDPM2DiscreteScheduler: Scheduler {
  static let className = "KDPM2DiscreteScheduler"
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
      let middle = geometricMiddle(steps[index], steps[index - 1])
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
    let start = pending ?? sample
    // A first call goes to the middle (the last one to the end), a second call from the start to the end.
    let stride: Float
    if pending == nil {
      pending = index + 1 < timesteps.count ? sample : nil
      stride = (index + 1 < timesteps.count ? calledSigmas[index + 1] : 0) - sigma
    } else {
      pending = nil
      stride = sigmas[index] - sigmas[index - 1]
    }
    let slope = sample.zip(original) { ($0 - $1) / sigma }
    return SchedulerStep(prevSample: linearCombination((1, start), (stride, slope)), predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }
}

/// √(a b), by logarithms as the original does; 0 when one of them is.
func geometricMiddle(_ left: Float, _ right: Float) -> Float { exp(log(right) - (log(right) - log(left)) * 0.5) }
