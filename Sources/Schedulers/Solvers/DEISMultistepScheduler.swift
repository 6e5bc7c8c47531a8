import Foundation
import Tensors

/// Diffusion exponential integrator sampler: Lagrange polynomials in log ρ, ρ = σ/α, through earlier noise estimates.
///
/// Source: Zhang & Chen 2022, arXiv:2204.13902 (the log-ρ variant), orders 1 to 3. The run ends at the level of the first
/// training step, not at 0, as in diffusers.
struct DEISMultistepScheduler: Scheduler {
  static let className = "DEISMultistepScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []
  let initNoiseSigma: Float = 1

  private enum Algorithm: String {
    case deis
  }
  private enum Variant: String {
    case logRho = "logrho"
  }

  private let plan: SolverPlan
  private let solverOrder: Int
  private let clipping: SampleClipping
  private let lowerOrderFinal: Bool
  /// The latest estimates of ε, oldest first.
  private var outputs: [Tensor] = []
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader)
    predictionType = try PredictionType(reader)
    plan = try SolverPlan(reader, schedule: noiseSchedule)
    solverOrder = try reader.int("solver_order", default: 2, in: 1...3)
    _ = try reader.choice(
      "algorithm_type", default: Algorithm.deis, allowed: [.deis], aliases: ["dpmsolver", "dpmsolver++"])
    _ = try reader.choice(
      "solver_type", default: Variant.logRho, allowed: [.logRho], aliases: ["midpoint", "heun", "bh1", "bh2"])
    clipping = try SampleClipping(reader, clipsByDefault: nil)
    lowerOrderFinal = try reader.bool("lower_order_final", default: true)
  }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = try plan.make(numInferenceSteps, schedule: noiseSchedule, className: Self.className)
    timesteps = planned
    sigmas = levels.map { Float($0) }
    sigmas.append(plan.sigmaSpacing == .timesteps ? noiseSchedule.sigmas[0] : sigmas[sigmas.count - 1])
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
    let start = SolverPoint(sigmas[index])
    let end = SolverPoint(sigmas[index + 1])
    let original = clipping.apply(
      predictionType.originalSample(modelOutput: modelOutput, sample: sample, alpha: start.alpha, sigma: start.sigma))
    let epsilon = sample.zip(original) { ($0 - start.alpha * $1) / start.sigma }
    outputs = outputs.suffix(solverOrder - 1) + [epsilon]

    let stepOrder = stepOrder(at: index)
    let previous: Tensor
    if stepOrder == 1 {
      let growth = exp(end.lambda - start.lambda) - 1
      previous = linearCombination((end.alpha / start.alpha, sample), (-(end.sigma * growth), epsilon))
    } else {
      let nodes = (0..<stepOrder).map { back in
        let point = SolverPoint(sigmas[index - back])
        return point.sigma / point.alpha
      }
      let coefficients = Self.coefficients(nodes, to: end.sigma / end.alpha)
      var terms: [Term] = [(1, sample.map { $0 / start.alpha })]
      for (coefficient, output) in Swift.zip(coefficients, outputs.reversed()) { terms.append((coefficient, output)) }
      previous = linearCombination(terms).map { end.alpha * $0 }
    }
    return SchedulerStep(prevSample: previous, predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByPoint(original, noise: noise, at: index)
  }

  private func stepOrder(at index: Int) -> Int {
    let available = min(solverOrder, outputs.count)
    guard lowerOrderFinal, timesteps.count < 15 else { return available }
    return min(available, timesteps.count - index)
  }

  /// ∫ from the first node to `end` of the Lagrange basis polynomials in log ρ over 2 or 3 nodes.
  private static func coefficients(_ nodes: [Float], to end: Float) -> [Float] {
    let logs = nodes.map { log($0) }
    // An antiderivative of each basis polynomial's numerator, by its roots in log ρ.
    func antiderivative(_ rho: Float, roots: [Float]) -> Float {
      let position = log(rho)
      guard roots.count == 2 else { return rho * (-roots[0] + position - 1) }
      return rho
        * (roots[0] * (roots[1] - position + 1) - roots[1] * position + roots[1] + position * position - 2 * position + 2)
    }
    return nodes.indices.map { current in
      let roots = nodes.indices.filter { $0 != current }.map { logs[$0] }
      let divisor = roots.reduce(1) { $0 * (logs[current] - $1) }
      return antiderivative(end, roots: roots) / divisor - antiderivative(nodes[0], roots: roots) / divisor
    }
  }
}
