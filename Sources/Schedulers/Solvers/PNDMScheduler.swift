import Tensors

/// Pseudo numerical methods for diffusion models: linear multistep (PLMS), optionally started by Runge-Kutta (PRK).
///
/// Source: Liu et al. 2022, arXiv:2202.09778, eq. 9, 11-13. With `skip_prk_steps` (Stable Diffusion's default scheduler)
/// the first step is made twice, so a run of N steps calls the network N+1 times; otherwise its first three steps take
/// four calls each. No `sample` prediction and no clipping, as in diffusers.
struct PNDMScheduler: Scheduler {
  static let className = "PNDMScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  let initNoiseSigma: Float = 1

  private let spacing: TimestepSpacing
  private let stepsOffset: Int
  private let skipsRungeKutta: Bool
  private let finalAlphaCumprod: Float
  private var stepCount = 1
  private var rungeKuttaCount = 0
  /// Steps made in this run; where the run started in `timesteps` doesn't matter.
  private var counter = 0
  private var lastIndex: Int?
  /// The latest outputs, oldest first.
  private var outputs: [Tensor] = []
  private var weightedOutput: Tensor?
  private var startSample: Tensor?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader)
    predictionType = try PredictionType(reader, allowed: [.epsilon, .vPrediction])
    spacing = try reader.choice("timestep_spacing", default: .leading, allowed: TimestepSpacing.allCases)
    stepsOffset = try reader.int("steps_offset", default: 0, in: 0...(noiseSchedule.count - 1))
    skipsRungeKutta = try reader.bool("skip_prk_steps", default: false)
    finalAlphaCumprod = try reader.bool("set_alpha_to_one", default: false) ? 1 : noiseSchedule.alphasCumprod[0]
  }

  var sigmas: [Float] { trainingSigmas(final: finalAlphaCumprod) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let spaced = spacing.wholeTimesteps(numInferenceSteps, trainCount: noiseSchedule.count, offset: stepsOffset)
    try checkTrained(spaced)
    if skipsRungeKutta {
      rungeKuttaCount = 0
      timesteps = spaced.count < 2 ? spaced : [spaced[0]] + [spaced[1]] + spaced[1...]
    } else {
      guard spaced.count >= 4 else {
        throw SchedulerError(
          .invalidArgument,
          "\(Self.className): steps: expected at least 4 with skip_prk_steps false, found \(numInferenceSteps)")
      }
      // Each Runge-Kutta step from t to t' visits t, the middle twice, and t'.
      let half = Double(noiseSchedule.count / numInferenceSteps / 2)
      var rungeKutta: [Double] = []
      for step in 0..<3 {
        let middle = spaced[step + 1] + half
        rungeKutta += [spaced[step], middle, middle, spaced[step + 1]]
      }
      rungeKuttaCount = rungeKutta.count
      timesteps = rungeKutta + spaced.dropFirst(3)
    }
    stepCount = numInferenceSteps
    counter = 0
    lastIndex = nil
    outputs = []
    weightedOutput = nil
    startSample = nil
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return sample
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: lastIndex, modelOutput: modelOutput, sample: sample)
    let timestep = Int(timesteps[index])
    let previous =
      try counter < rungeKuttaCount
      ? rungeKuttaStep(modelOutput, timestep: timestep, sample: sample)
      : multistep(modelOutput, timestep: timestep, sample: sample)
    lastIndex = index
    counter += 1
    return SchedulerStep(prevSample: previous)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByAlpha(original, noise: noise, at: index)
  }

  /// One of the four calls of a Runge-Kutta step.
  private mutating func rungeKuttaStep(_ output: Tensor, timestep: Int, sample: Tensor) throws(SchedulerError) -> Tensor {
    let stage = counter % 4
    let target = stage % 2 == 0 ? timestep - noiseSchedule.count / stepCount / 2 : timestep
    let start = Int(timesteps[counter - stage])
    var slope = output
    switch stage {
    case 0:
      weightedOutput = output.map { 1 / 6 * $0 }
      outputs.append(output)
      startSample = sample
    case 1, 2:
      weightedOutput = weightedOutput.map { linearCombination((1, $0), (1 / 3, output)) }
    default:
      if let weighted = weightedOutput { slope = linearCombination((1, weighted), (1 / 6, output)) }
      weightedOutput = nil
    }
    return try transfer(startSample ?? sample, from: start, to: target, output: slope)
  }

  /// One linear multistep step, of the order that the outputs so far allow.
  private mutating func multistep(_ output: Tensor, timestep: Int, sample: Tensor) throws(SchedulerError) -> Tensor {
    let stride = noiseSchedule.count / stepCount
    if counter == 1 {
      // The repeated first step: from the same sample, with the mean of both outputs.
      let mean = outputs[outputs.count - 1].zip(output) { ($1 + $0) / 2 }
      defer { startSample = nil }
      return try transfer(startSample ?? sample, from: timestep + stride, to: timestep, output: mean)
    }
    outputs = outputs.suffix(3) + [output]
    if counter == 0 { startSample = sample }
    let newest = outputs.reversed() as [Tensor]
    let slope: Tensor =
      switch newest.count {
      case 1: output
      case 2: newest[0].zip(newest[1]) { (3 * $0 - $1) / 2 }
      case 3: linearCombination((23, newest[0]), (-16, newest[1]), (5, newest[2])).map { $0 / 12 }
      default:
        linearCombination((55, newest[0]), (-59, newest[1]), (37, newest[2]), (-9, newest[3])).map { 1 / 24 * $0 }
      }
    return try transfer(sample, from: timestep, to: timestep - stride, output: slope)
  }

  /// The step along the ODE whose slope is given by `output`.
  ///
  /// Source: equation 9 of the paper.
  private func transfer(_ sample: Tensor, from timestep: Int, to previous: Int, output: Tensor) throws(SchedulerError) -> Tensor {
    let alphaBar = try noiseSchedule.alphaCumprod(at: timestep)
    let alphaBarPrevious = try previous >= 0 ? noiseSchedule.alphaCumprod(at: previous) : finalAlphaCumprod
    let epsilon = predictionType.noise(
      modelOutput: output, sample: sample, alpha: alphaBar.squareRoot(), sigma: (1 - alphaBar).squareRoot())
    let scale = (alphaBarPrevious / alphaBar).squareRoot()
    let change = alphaBarPrevious - alphaBar
    let divisor =
      alphaBar * (1 - alphaBarPrevious).squareRoot() + (alphaBar * (1 - alphaBar) * alphaBarPrevious).squareRoot()
    return sample.zip(epsilon) { scale * $0 - change * $1 / divisor }
  }
}
