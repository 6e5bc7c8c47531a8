import Tensors

/// DPM-Solver, DPM-Solver++ and their SDE forms with earlier outputs as derivatives (orders 1 to 3).
///
/// Source: Lu et al. 2022, arXiv:2206.00927 and arXiv:2211.01095, algorithm 2. "DPM++ 2M" is order 2 of `dpmsolver++`.
/// The last step is of first order when it ends at σ = 0, and for runs of fewer than 15 steps.
struct DPMSolverMultistepScheduler: Scheduler {
  static let className = "DPMSolverMultistepScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []
  let initNoiseSigma: Float = 1

  private let plan: SolverPlan
  private let solverOrder: Int
  private let algorithm: DPMSolverAlgorithm
  private let variant: DPMSolverAlgorithm.Variant
  private let clipping: SampleClipping
  private let lowerOrderFinal: Bool
  private let eulerAtFinal: Bool
  private let finalSigma: FinalSigma
  /// The latest outputs (x₀ or ε), oldest first.
  private var outputs: [Tensor] = []
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, rescaling: .finite)
    predictionType = try PredictionType(reader)
    var plan = try SolverPlan(
      reader, schedule: noiseSchedule, allowsLu: true,
      rounding: config.values["beta_schedule"] == .string(BetaSchedule.squaredcosCapV2.rawValue) ? .truncates : .roundsKarras)
    try plan.readLogSNRFloor(reader, schedule: noiseSchedule)
    self.plan = plan
    solverOrder = try reader.int("solver_order", default: 2, in: 1...3)
    algorithm = try reader.choice(
      "algorithm_type", default: .data, allowed: DPMSolverAlgorithm.allCases, aliases: ["deis"])
    variant = try reader.choice(
      "solver_type", default: .midpoint, allowed: DPMSolverAlgorithm.Variant.allCases, aliases: ["logrho", "bh1", "bh2"])
    clipping = try SampleClipping(reader, clipsByDefault: nil)
    lowerOrderFinal = try reader.bool("lower_order_final", default: true)
    eulerAtFinal = try reader.bool("euler_at_final", default: false)
    finalSigma = try FinalSigma(reader)
    try reader.refuseLearnedVariance()
    if !algorithm.predictsData, finalSigma == .zero {
      throw SchedulerError(
        .invalidConfig,
        "\(Self.className): final_sigmas_type: expected sigma_min with algorithm_type \(algorithm.rawValue), found zero")
    }
    if algorithm == .stochasticNoise, solverOrder == 3 {
      throw SchedulerError(.unsupported, "\(Self.className): solver_order: expected 1 or 2 with sde-dpmsolver, found 3")
    }
  }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = try plan.make(numInferenceSteps, schedule: noiseSchedule, className: Self.className)
    timesteps = planned
    sigmas = levels.map { Float($0) } + [finalSigma.value(noiseSchedule)]
    outputs = []
    lastIndex = nil
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
    lastIndex = index
    let point = SolverPoint(sigmas[index])
    let (output, original) = algorithm.convert(
      modelOutput, predictionType: predictionType, sample: sample, at: point, clipping: clipping)
    outputs = outputs.suffix(solverOrder - 1) + [output]
    let freshNoise = algorithm.isStochastic ? noise.normals(shape: sample.shape) : nil
    let previous = advance(sample, from: point, at: index, order: stepOrder(at: index), noise: freshNoise)
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByPoint(original, noise: noise, at: index)
  }

  private func stepOrder(at index: Int) -> Int {
    let isShort = timesteps.count < 15
    if index == timesteps.count - 1, eulerAtFinal || (lowerOrderFinal && isShort) || finalSigma == .zero { return 1 }
    let available = min(solverOrder, outputs.count)
    return index == timesteps.count - 2 && lowerOrderFinal && isShort ? min(available, 2) : available
  }

  private func advance(_ sample: Tensor, from start: SolverPoint, at index: Int, order: Int, noise: Tensor?) -> Tensor {
    let end = SolverPoint(sigmas[index + 1])
    // A run that ends at the level of the last timestep stays there.
    guard end.lambda != start.lambda else { return sample }
    let integrals = DPMSolverAlgorithm.Integrals(algorithm, from: start, to: end)
    let latest = outputs[outputs.count - 1]
    var terms: [Term] = [(integrals.sample, sample), (integrals.constant, latest)]
    if order >= 2 {
      let h = end.lambda - start.lambda
      let previous = SolverPoint(sigmas[index - 1])
      let r0 = (start.lambda - previous.lambda) / h
      let before = outputs[outputs.count - 2]
      let slope0 = latest.zip(before) { 1 / r0 * ($0 - $1) }
      if order == 2 {
        terms.append((variant == .midpoint ? integrals.midpointSlope : integrals.slope, slope0))
      } else {
        let r1 = (previous.lambda - SolverPoint(sigmas[index - 2]).lambda) / h
        let slope1 = before.zip(outputs[outputs.count - 3]) { 1 / r1 * ($0 - $1) }
        let change = difference(slope0, slope1)
        terms.append((integrals.slope, linearCombination((1, slope0), (r0 / (r0 + r1), change))))
        terms.append((integrals.curvature, change.map { 1 / (r0 + r1) * $0 }))
      }
    }
    if let noise { terms.append((integrals.noise, noise)) }
    return linearCombination(terms)
  }
}

extension ConfigReader {
  /// Refuses networks that predict a variance beside the mean.
  func refuseLearnedVariance() throws(SchedulerError) {
    if let kind = config.values["variance_type"], [.string("learned"), .string("learned_range")].contains(kind) {
      throw SchedulerError(.unsupported, "\(className): variance_type \(kind): networks that predict a variance aren't supported")
    }
  }
}

extension DPMSolverAlgorithm {
  /// The quantity that the solver expands (x₀ or ε), and x₀.
  func convert(
    _ modelOutput: Tensor, predictionType: PredictionType, sample: Tensor, at point: SolverPoint, clipping: SampleClipping
  ) -> (output: Tensor, original: Tensor) {
    let raw = predictionType.originalSample(modelOutput: modelOutput, sample: sample, alpha: point.alpha, sigma: point.sigma)
    let original = clipping.apply(raw)
    if predictsData { return (original, original) }
    if clipping != .none {
      return (sample.zip(original) { ($0 - point.alpha * $1) / point.sigma }, original)
    }
    let epsilon = predictionType.noise(modelOutput: modelOutput, sample: sample, alpha: point.alpha, sigma: point.sigma)
    return (epsilon, original)
  }
}
