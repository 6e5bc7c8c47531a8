import Foundation
import Tensors

/// The unified predictor-corrector: each step is predicted from earlier outputs, then corrected by the next output.
///
/// Source: Zhao et al. 2023, arXiv:2302.04867, algorithms 1-2, with B₁(h) = h (`bh1`) and B₂(h) = e^h - 1 (`bh2`),
/// orders 1 to 3. Where a step ends at σ = 0, diffusers' `bh1` yields NaN (0 · ∞); here that term is left out.
struct UniPCMultistepScheduler: Scheduler {
  static let className = "UniPCMultistepScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []
  let initNoiseSigma: Float = 1

  /// The paper's B(h).
  enum Basis: String, CaseIterable {
    case bh1, bh2
  }

  private let plan: SolverPlan
  private let solverOrder: Int
  private let basis: Basis
  private let predictsData: Bool
  private let clipping: SampleClipping
  private let lowerOrderFinal: Bool
  private let uncorrectedSteps: [Int]
  private let finalSigma: FinalSigma
  /// The latest outputs (x₀ or ε), oldest first.
  private var outputs: [Tensor] = []
  /// The corrected sample that the last prediction started from, and that prediction's order.
  private var last: (sample: Tensor, order: Int)?
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, rescaling: .finite)
    predictionType = try PredictionType(reader)
    plan = try SolverPlan(reader, schedule: noiseSchedule)
    solverOrder = try reader.int("solver_order", default: 2, in: 1...3)
    basis = try reader.choice(
      "solver_type", default: .bh2, allowed: Basis.allCases, aliases: ["midpoint", "heun", "logrho"])
    predictsData = try reader.bool("predict_x0", default: true)
    clipping = try SampleClipping(reader, clipsByDefault: nil)
    lowerOrderFinal = try reader.bool("lower_order_final", default: true)
    uncorrectedSteps = try reader.ints("disable_corrector")
    finalSigma = try FinalSigma(reader)
    if let solver = config.values["solver_p"], solver != .null {
      throw SchedulerError(.unsupported, "\(Self.className): solver_p: another scheduler as predictor isn't supported")
    }
    if finalSigma == .zero, !predictsData {
      throw SchedulerError(
        .invalidConfig, "\(Self.className): final_sigmas_type: expected sigma_min with predict_x0 false, found zero")
    }
  }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    guard finalSigma == .sigmaMin || lowerOrderFinal || solverOrder == 1 || numInferenceSteps == 1 else {
      throw SchedulerError(
        .invalidConfig, "\(Self.className): final_sigmas_type: expected sigma_min with lower_order_final false, found zero")
    }
    let (planned, levels) = try plan.make(numInferenceSteps, schedule: noiseSchedule, className: Self.className)
    timesteps = planned
    sigmas = levels.map { Float($0) }
    let lowest = plan.sigmaSpacing == .timesteps ? finalSigma.value(noiseSchedule) : sigmas[sigmas.count - 1]
    sigmas.append(finalSigma == .zero ? 0 : lowest)
    outputs = []
    last = nil
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
    let original = clipping.apply(
      predictionType.originalSample(modelOutput: modelOutput, sample: sample, alpha: point.alpha, sigma: point.sigma))
    let output =
      predictsData
      ? original : predictionType.noise(modelOutput: modelOutput, sample: sample, alpha: point.alpha, sigma: point.sigma)
    var start = sample
    if let last, !uncorrectedSteps.contains(index - 1) {
      start = advance(last.sample, from: index - 1, order: last.order, correctingWith: output)
    }
    outputs = outputs.suffix(solverOrder - 1) + [output]
    var stepOrder = min(solverOrder, outputs.count)
    if lowerOrderFinal { stepOrder = min(stepOrder, timesteps.count - index) }
    last = (start, stepOrder)
    let previous = advance(start, from: index, order: stepOrder, correctingWith: nil)
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByPoint(original, noise: noise, at: index)
  }

  /// From entry `index` to the next: the predictor, or the corrector when the output at the end is known.
  private func advance(_ sample: Tensor, from index: Int, order: Int, correctingWith endOutput: Tensor?) -> Tensor {
    let start = SolverPoint(sigmas[index])
    let end = SolverPoint(sigmas[index + 1])
    let h = end.lambda - start.lambda
    // A run that ends at the level of the last timestep stays there.
    guard h != 0 else { return sample }
    let exponent = predictsData ? -h : h
    let growth = expm1(exponent)
    let scale = predictsData ? end.alpha : end.sigma
    let latest = outputs[outputs.count - 1]
    var result = linearCombination(
      (predictsData ? end.sigma / start.sigma : end.alpha / start.alpha, sample), (-(scale * growth), latest))

    // Divided differences to the earlier outputs; `ratios` are their distances in units of the step.
    var ratios: [Float] = []
    var differences: [Tensor] = []
    for back in 1..<max(order, 1) {
      let ratio = (SolverPoint(sigmas[index - back]).lambda - start.lambda) / h
      ratios.append(ratio)
      differences.append(outputs[outputs.count - 1 - back].zip(latest) { ($0 - $1) / ratio })
    }
    if let endOutput { differences.append(difference(endOutput, latest)) }
    guard !differences.isEmpty else { return result }
    let weight = basis == .bh1 ? exponent : growth
    let coefficients = Self.coefficients(ratios + [1], exponent: exponent, weight: weight, count: differences.count)
    let correction = linearCombination(Array(Swift.zip(coefficients, differences)).map { ($0.0, $0.1) })
    result = linearCombination((1, result), (-(scale * weight), correction))
    return result
  }

  /// The weights ρ of the first `count` differences: the solution of R ρ = b.
  ///
  /// Source: eq. 10 and 11 of the paper.
  static func coefficients(_ ratios: [Float], exponent: Float, weight: Float, count: Int) -> [Float] {
    // A single unknown has a closed form that the authors round to one half.
    if count == 1 { return [0.5] }
    var rows: [[Float]] = []
    var integral = expm1(exponent) / exponent - 1
    var factorial: Float = 1
    for power in 0..<count {
      let right = integral * factorial / weight
      rows.append(ratios.prefix(count).map { pow($0, Float(power)) } + [right])
      factorial *= Float(power + 2)
      integral = integral / exponent - 1 / factorial
    }
    return solve(rows)
  }

  /// Gaussian elimination with row pivoting of an augmented matrix.
  private static func solve(_ augmented: [[Float]]) -> [Float] {
    var rows = augmented
    let count = rows.count
    for column in 0..<count {
      let pivot = (column..<count).max { abs(rows[$0][column]) < abs(rows[$1][column]) } ?? column
      rows.swapAt(column, pivot)
      for row in (column + 1)..<max(count, column + 1) {
        let factor = rows[row][column] / rows[column][column]
        for entry in column...count { rows[row][entry] -= factor * rows[column][entry] }
      }
    }
    var solution = [Float](repeating: 0, count: count)
    for row in (0..<count).reversed() {
      var value = rows[row][count]
      for column in (row + 1)..<max(count, row + 1) { value -= rows[row][column] * solution[column] }
      solution[row] = value / rows[row][row]
    }
    return solution
  }
}
