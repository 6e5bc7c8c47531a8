import Tensors

/// DPM-Solver++ in blocks: each block of 1, 2 or 3 calls starts from one sample ("DPM++ 2S", "DPM++ SDE").
///
/// Source: Lu et al. 2022, arXiv:2206.00927, algorithms 1-2 and arXiv:2211.01095, algorithm 1. Every call of the network
/// counts as one step, so "2S" of N steps costs N calls. Timesteps are always spaced evenly (no `timestep_spacing`).
/// diffusers documents this class as its nearest to A1111's "DPM++ SDE"; here that name takes `sde-dpmsolver++`.
struct DPMSolverSinglestepScheduler: Scheduler {
  static let className = "DPMSolverSinglestepScheduler"
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
  private let finalSigma: FinalSigma
  private var stepOrders: [Int] = []
  /// The latest outputs (x₀ or ε), oldest first.
  private var outputs: [Tensor] = []
  /// Where the current block started.
  private var blockStart: Tensor?
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader)
    predictionType = try PredictionType(reader)
    var plan = try SolverPlan(reader, schedule: noiseSchedule, spacing: .linspace)
    try plan.readLogSNRFloor(reader, schedule: noiseSchedule)
    self.plan = plan
    solverOrder = try reader.int("solver_order", default: 2, in: 1...3)
    algorithm = try reader.choice(
      "algorithm_type", default: .data, allowed: [.noise, .data, .stochasticData], aliases: ["deis"])
    variant = try reader.choice(
      "solver_type", default: .midpoint, allowed: DPMSolverAlgorithm.Variant.allCases, aliases: ["logrho", "bh1", "bh2"])
    clipping = try SampleClipping(reader, clipsByDefault: nil)
    lowerOrderFinal = try reader.bool("lower_order_final", default: false)
    finalSigma = try FinalSigma(reader)
    try reader.refuseLearnedVariance()
    if !algorithm.predictsData, finalSigma == .zero {
      throw SchedulerError(
        .invalidConfig,
        "\(Self.className): final_sigmas_type: expected sigma_min with algorithm_type \(algorithm.rawValue), found zero")
    }
    if !algorithm.predictsData, clipping != .none {
      throw SchedulerError(
        .unsupported, "\(Self.className): thresholding: expected false with algorithm_type dpmsolver, found true")
    }
  }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = try plan.make(numInferenceSteps, schedule: noiseSchedule, className: Self.className)
    timesteps = planned
    sigmas = levels.map { Float($0) } + [finalSigma.value(noiseSchedule)]
    stepOrders = Self.stepOrders(
      planned.count, solverOrder: solverOrder,
      lowersFinal: lowerOrderFinal || finalSigma == .zero || planned.count % solverOrder != 0, endsAtZero: finalSigma == .zero)
    outputs = []
    blockStart = nil
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
    let (output, original) = algorithm.convert(
      modelOutput, predictionType: predictionType, sample: sample, at: SolverPoint(sigmas[index]), clipping: clipping)
    outputs = outputs.suffix(solverOrder - 1) + [output]
    let freshNoise = algorithm.isStochastic ? noise.normals(shape: sample.shape) : nil
    let stepOrder = min(stepOrders[index], outputs.count)
    if stepOrder == 1 { blockStart = sample }
    let previous = advance(blockStart ?? sample, at: index, order: stepOrder, noise: freshNoise)
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByPoint(original, noise: noise, at: index)
  }

  /// The order of each call: 1 … k in each block of k calls, with a shorter block at the end.
  static func stepOrders(_ count: Int, solverOrder: Int, lowersFinal: Bool, endsAtZero: Bool) -> [Int] {
    let block = Array(1...solverOrder)
    var orders = [Int](repeating: 0, count: count).indices.map { block[$0 % solverOrder] }
    // A run that would end with a full block ends with one of one order less and a single step instead.
    if lowersFinal, solverOrder > 1, count % solverOrder == 0 { orders[count - 1] = 1 }
    if endsAtZero { orders[count - 1] = 1 }
    return orders
  }

  private func advance(_ sample: Tensor, at index: Int, order: Int, noise: Tensor?) -> Tensor {
    let end = SolverPoint(sigmas[index + 1])
    let start = SolverPoint(sigmas[index + 1 - order])
    // A run that ends at the level of the last timestep stays there.
    guard end.lambda != start.lambda else { return sample }
    let integrals = DPMSolverAlgorithm.Integrals(algorithm, from: start, to: end)
    let h = end.lambda - start.lambda
    let first = outputs[outputs.count - order]
    let latest = outputs[outputs.count - 1]
    var terms: [Term] = [(integrals.sample, sample), (integrals.constant, first)]
    if order >= 2 {
      let r0 = (SolverPoint(sigmas[index]).lambda - start.lambda) / h
      let slope = latest.zip(first) { 1 / r0 * ($0 - $1) }
      if order == 2 {
        terms.append((variant == .midpoint ? integrals.midpointSlope : integrals.slope, slope))
      } else if variant == .midpoint {
        terms.append((integrals.slope, slope))
      } else {
        let r1 = (SolverPoint(sigmas[index - 1]).lambda - start.lambda) / h
        let earlySlope = outputs[outputs.count - 2].zip(first) { 1 / r1 * ($0 - $1) }
        terms.append((integrals.slope, earlySlope.zip(slope) { (r0 * $0 - r1 * $1) / (r0 - r1) }))
        terms.append((integrals.curvature, slope.zip(earlySlope) { 2 * ($0 - $1) / (r0 - r1) }))
      }
    }
    if let noise { terms.append((integrals.noise, noise)) }
    return linearCombination(terms)
  }
}
