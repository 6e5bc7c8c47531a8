import Tensors

/// Multistep consistency sampling: jump to the noise-free estimate, then add fresh noise of the next level.
///
/// Source: Luo et al. 2023, arXiv:2310.04378, algorithm 3. The network must be distilled for it. Noise is drawn at every
/// step but the last.
struct LCMScheduler: Scheduler {
  static let className = "LCMScheduler"
  let noiseSchedule: NoiseSchedule
  let predictionType: PredictionType
  let order = 1
  private(set) var timesteps: [Double] = []
  let initNoiseSigma: Float = 1

  /// The data's deviation in the boundary condition.
  private static let dataSigma: Float = 0.5
  private let trained: ConsistencyTimesteps
  private let clipping: SampleClipping
  private let timestepScaling: Float

  init(config: SchedulerConfig) throws(SchedulerError) {
    let reader = ConfigReader(className: Self.className, config: config)
    noiseSchedule = try NoiseSchedule(reader, betas: (0.00085, 0.012), schedule: .scaledLinear, rescaling: .exact)
    predictionType = try PredictionType(reader)
    trained = try ConsistencyTimesteps(reader, trainCount: noiseSchedule.count)
    clipping = try SampleClipping(reader, clipsByDefault: false)
    timestepScaling = Float(try reader.double("timestep_scaling", default: 10, in: 0...1e9))
  }

  var sigmas: [Float] { trainingSigmas(final: 1) }

  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError) {
    try checkStepCount(numInferenceSteps)
    timesteps = try trained.make(numInferenceSteps, trainCount: noiseSchedule.count, className: Self.className)
    try checkFinite()
  }

  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    return sample
  }

  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource)
    throws(SchedulerError) -> SchedulerStep
  {
    try checkStep(index, after: nil, modelOutput: modelOutput, sample: sample)
    let alphaBar = try noiseSchedule.alphaCumprod(at: Int(timesteps[index]))
    let original = clipping.apply(
      predictionType.originalSample(
        modelOutput: modelOutput, sample: sample, alpha: alphaBar.squareRoot(), sigma: (1 - alphaBar).squareRoot()))
    // The boundary condition: at timestep 0 the sample itself.
    let scaled = Float(timesteps[index]) * timestepScaling
    let square = scaled * scaled + Self.dataSigma * Self.dataSigma
    let denoised = linearCombination(
      (scaled / square.squareRoot(), original), (Self.dataSigma * Self.dataSigma / square, sample))
    guard index + 1 < timesteps.count else { return SchedulerStep(prevSample: denoised, predOriginalSample: denoised) }
    let alphaBarNext = try noiseSchedule.alphaCumprod(at: Int(timesteps[index + 1]))
    let previous = linearCombination(
      (alphaBarNext.squareRoot(), denoised), ((1 - alphaBarNext).squareRoot(), noise.normals(shape: sample.shape)))
    return SchedulerStep(prevSample: previous, predOriginalSample: denoised)
  }

  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try addNoiseByAlpha(original, noise: noise, at: index)
  }
}
