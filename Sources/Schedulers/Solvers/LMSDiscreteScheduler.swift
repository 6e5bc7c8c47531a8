import Tensors

/// Linear multistep (Adams-Bashforth) of order up to 4 on the probability-flow ODE in σ.
///
/// Source: Adams-Bashforth over unevenly spaced nodes, as in k-diffusion. The coefficients are integrals of Lagrange
/// polynomials, here exact; diffusers integrates the same polynomials numerically (relative 1e-4 asked for).
struct LMSDiscreteScheduler: Scheduler {
  static let className = "LMSDiscreteScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  private(set) var sigmas: [Float] = []

  private static let longest = 4
  private let plan: SigmaPlan
  /// The latest slopes, oldest first.
  private var slopes: [Tensor] = []
  private var lastIndex: Int?

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader)
    predictionType = try PredictionType(reader)
    plan = try SigmaPlan(reader, trainCount: noiseSchedule.count, heedsRangeForKarras: false)
  }

  var initNoiseSigma: Float { plan.initNoiseSigma(sigmas.isEmpty ? noiseSchedule.sigmas : sigmas) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    let (planned, levels) = plan.make(numInferenceSteps, noiseSchedule: noiseSchedule)
    timesteps = planned.map { Double(Float($0)) }
    sigmas = levels.map { Float($0) } + [0]
    slopes = []
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
    lastIndex = index
    let sigma = sigmas[index]
    let original = predictionType.originalSample(modelOutput: modelOutput, unscaledSample: sample, sigma: sigma)
    slopes = slopes.suffix(Self.longest - 1) + [sample.zip(original) { ($0 - $1) / sigma }]
    // The order follows the place in the schedule; an image-to-image run that starts late has fewer slopes than that
    // and, as in diffusers, leaves the missing terms out.
    let coefficients = Self.coefficients(sigmas, at: index, order: min(index + 1, Self.longest))
    var terms: [Term] = []
    for (coefficient, slope) in Swift.zip(coefficients, slopes.reversed()) { terms.append((Float(coefficient), slope)) }
    return SchedulerStep(
      prevSample: linearCombination((1, sample), (1, linearCombination(terms))), predOriginalSample: original)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseBySigma(original, noise: noise, at: index)
  }

  /// ∫ from σ[index] to σ[index+1] of each Lagrange basis polynomial over the nodes σ[index], σ[index-1] and so on.
  static func coefficients(_ sigmas: [Float], at index: Int, order: Int) -> [Double] {
    let origin = Double(sigmas[index])
    let width = Double(sigmas[index + 1]) - origin
    let nodes = (0..<order).map { Double(sigmas[index - $0]) - origin }
    return nodes.indices.map { current in
      // The basis polynomial's coefficients by rising power of (τ - σ[index]).
      var polynomial = [1.0]
      for other in nodes.indices where other != current {
        let divisor = nodes[current] - nodes[other]
        var product = [Double](repeating: 0, count: polynomial.count + 1)
        for (power, value) in polynomial.enumerated() {
          product[power] -= value * nodes[other] / divisor
          product[power + 1] += value / divisor
        }
        polynomial = product
      }
      var powerOfWidth = width
      var integral = 0.0
      for (power, value) in polynomial.enumerated() {
        integral += value * powerOfWidth / Double(power + 1)
        powerOfWidth *= width
      }
      return integral
    }
  }
}
