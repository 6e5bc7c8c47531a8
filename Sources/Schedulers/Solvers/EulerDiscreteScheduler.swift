import Foundation
import Tensors

/// Euler's method on the probability-flow ODE in σ (first order, deterministic).
///
/// Source: Karras et al. 2022, arXiv:2206.00364, algorithm 2 without churn and without the second-order correction.
struct EulerDiscreteScheduler: Scheduler {
  static let className = "EulerDiscreteScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []

  /// How σ is found between the training steps.
  private enum Interpolation: String, CaseIterable {
    case linear
    case logLinear = "log_linear"
  }

  /// What the network is told: the timestep, or log(σ)/4 for v-prediction models trained that way.
  private enum TimestepType: String, CaseIterable {
    case discrete, continuous
  }

  private let plan: SigmaPlan
  private let interpolation: Interpolation
  private let timestepType: TimestepType
  private let finalSigma: FinalSigma

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, rescaling: .finite)
    predictionType = try PredictionType(reader)
    plan = try SigmaPlan(reader, trainCount: noiseSchedule.count)
    interpolation = try reader.choice("interpolation_type", default: .linear, allowed: Interpolation.allCases)
    timestepType = try reader.choice("timestep_type", default: .discrete, allowed: TimestepType.allCases)
    finalSigma = try FinalSigma(reader)
  }

  var initNoiseSigma: Float { plan.initNoiseSigma(sigmas.isEmpty ? noiseSchedule.sigmas : sigmas) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    var (planned, levels) = plan.make(numInferenceSteps, noiseSchedule: noiseSchedule)
    if interpolation == .logLinear {
      let training = noiseSchedule.sigmas
      let spaced = NumericArrays.linspaceFloat(log(training[training.count - 1]), log(training[0]), count: numInferenceSteps + 1)
      levels = spaced.map { Double(exp($0)) }
      if plan.sigmaSpacing != .timesteps {
        (planned, levels) = plan.respaced(levels, count: numInferenceSteps, trainingSigmas: training)
      }
    }
    sigmas = levels.map { Float($0) } + [finalSigma.value(noiseSchedule)]
    timesteps =
      timestepType == .continuous && predictionType == .vPrediction
      ? sigmas.dropLast().map { Double(0.25 * log($0)) } : planned.map { Double(Float($0)) }
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
    let stride = sigmas[index + 1] - sigma
    let previous = sample.zip(original) { $0 + ($0 - $1) / sigma * stride }
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }
}
