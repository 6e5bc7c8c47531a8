public import Tensors

/// The result of one solver step.
public struct SchedulerStep: Sendable {
  /// The sample at the next, lower noise level, shaped like the input.
  public var prevSample: Tensor
  /// The scheduler's current estimate of the noise-free sample, after clipping where the class clips.
  public var predOriginalSample: Tensor?

  /// Makes a result.
  public init(prevSample: Tensor, predOriginalSample: Tensor? = nil) {
    self.prevSample = prevSample
    self.predOriginalSample = predOriginalSample
  }
}

/// A diffusion sampler: where to evaluate the network, and how to move the sample between those places.
///
/// Schedulers are values: a copy can be walked again. They're named, configured and computed as in diffusers 0.42, in
/// single precision. The loop is the same for all:
/// ```swift
/// try scheduler.setTimesteps(numInferenceSteps: 20)
/// var sample = noise.map { $0 * scheduler.initNoiseSigma }
/// for index in scheduler.timesteps.indices {
///   let input = try scheduler.scaleModelInput(sample, at: index)
///   let output = network(input, timestep: scheduler.timesteps[index])
///   sample = try scheduler.step(modelOutput: output, at: index, sample: sample, noise: &source).prevSample
/// }
/// ```
/// Image-to-image starts that loop at ``startIndex(numInferenceSteps:strength:)`` with
/// `addNoise(original, noise:, at: start)` as its sample. Steps are taken in order; a gap or a repetition throws.
public protocol Scheduler: Sendable {
  /// diffusers' class name: `EulerDiscreteScheduler`.
  static var className: String { get }

  /// Makes the scheduler from the stored keys, with the class's defaults for the others.
  init(config: SchedulerConfig) throws(SchedulerError)

  /// The forward process.
  var noiseSchedule: NoiseSchedule { get }

  /// What the network's output means.
  var predictionType: PredictionType { get }

  /// Entries of ``timesteps`` per step of the user: 2 for Heun and DPM2, otherwise 1.
  var order: Int { get }

  /// The timesteps as the loop walks them (N; N+1 for PNDM; 2N-1 for Heun and DPM2); empty before `setTimesteps`.
  var timesteps: [Double] { get }

  /// The noise levels σ in units of the signal: one for each timestep, and the one that the last step ends at.
  ///
  /// DPM2 repeats the last one, as in diffusers.
  var sigmas: [Float] { get }

  /// What unit-normal noise is multiplied by to become the first sample.
  var initNoiseSigma: Float { get }

  /// Plans a run of N steps and forgets any state of an earlier run.
  ///
  /// - Throws: `invalidArgument` when N is below 1, above the number of training steps, or out of this class's reach.
  mutating func setTimesteps(numInferenceSteps: Int) throws(SchedulerError)

  /// The sample as the network wants to see it at entry `index` of ``timesteps``.
  func scaleModelInput(_ sample: Tensor, at index: Int) throws(SchedulerError) -> Tensor

  /// Moves the sample from entry `index` of ``timesteps`` to the next.
  ///
  /// - Parameters:
  ///   - modelOutput: The network's output (after guidance), shaped like `sample`.
  ///   - index: The entry, as in the loop.
  ///   - sample: The current sample, not scaled by ``scaleModelInput(_:at:)``.
  ///   - noise: Drawn from by the stochastic classes only: one tensor of the sample's shape whenever diffusers draws one.
  mutating func step(modelOutput: Tensor, at index: Int, sample: Tensor, noise: inout any NoiseSource) throws(SchedulerError)
    -> SchedulerStep

  /// The forward process: `original` with noise of the level at entry `index` of ``timesteps``.
  func addNoise(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor
}

extension Scheduler {
  /// Where an image-to-image loop starts: N - ⌊N · strength⌋ steps are skipped.
  ///
  /// - Throws: `invalidArgument` when strength isn't in 0...1 or so small that no step is left.
  public func startIndex(numInferenceSteps: Int, strength: Double) throws(SchedulerError) -> Int {
    guard strength >= 0, strength <= 1 else {
      throw SchedulerError(.invalidArgument, "strength: expected a number in 0...1, found \(strength)")
    }
    let kept = min(Int(Double(numInferenceSteps) * strength), numInferenceSteps)
    guard kept > 0 else {
      throw SchedulerError(
        .invalidArgument, "strength \(strength) of \(numInferenceSteps) steps leaves no step; raise the strength or the steps")
    }
    return (numInferenceSteps - kept) * order
  }

  func checkStepCount(_ count: Int) throws(SchedulerError) {
    guard count >= 1, count <= noiseSchedule.count else {
      throw SchedulerError(
        .invalidArgument, "\(Self.className): steps: expected 1...\(noiseSchedule.count) (the training steps), found \(count)")
    }
  }

  /// Refuses a plan that isn't one: few steps between levels that lie close together can leave no number between them.
  func checkFinite() throws(SchedulerError) {
    guard timesteps.allSatisfy(\.isFinite), !sigmas.contains(where: \.isNaN) else {
      throw SchedulerError(
        .invalidArgument,
        "\(Self.className): steps: with this spacing their number gives a timestep or a sigma that is no number; choose another number "
          + "of steps or another spacing")
    }
  }

  func checkIndex(_ index: Int) throws(SchedulerError) {
    guard !timesteps.isEmpty else {
      throw SchedulerError(.invalidCall, "\(Self.className): setTimesteps must be called first")
    }
    guard timesteps.indices.contains(index) else {
      throw SchedulerError(.invalidCall, "\(Self.className): index: expected 0..<\(timesteps.count), found \(index)")
    }
  }

  func checkStep(_ index: Int, after last: Int?, modelOutput: Tensor, sample: Tensor) throws(SchedulerError) {
    try checkIndex(index)
    if let last, index != last + 1 {
      throw SchedulerError(.invalidCall, "\(Self.className): index: expected \(last + 1) after \(last), found \(index)")
    }
    try checkShapes(sample, modelOutput, "modelOutput")
  }

  func checkShapes(_ sample: Tensor, _ other: Tensor, _ name: String) throws(SchedulerError) {
    guard sample.shape == other.shape else {
      throw SchedulerError(.invalidCall, "\(Self.className): \(name): expected shape \(sample.shape), found \(other.shape)")
    }
  }
}
