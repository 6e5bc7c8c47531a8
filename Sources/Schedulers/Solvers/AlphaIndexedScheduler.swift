import Tensors

// What the schedulers share that look ᾱ up at whole timesteps (DDIM, DDPM, PNDM, LCM, TCD) and keep the sample scaled
// to unit variance.
extension Scheduler {
  /// Refuses a plan that leaves the training steps: `leading` with an offset does at its largest step counts.
  func checkTrained(_ planned: [Double]) throws(SchedulerError) {
    if let outside = planned.first(where: { $0 >= Double(noiseSchedule.count) }) {
      throw SchedulerError(
        .invalidArgument,
        "\(Self.className): steps: timestep \(Int(outside)) is beyond the last training step \(noiseSchedule.count - 1); "
          + "use fewer steps or steps_offset 0")
    }
  }

  /// √((1-ᾱ)/ᾱ) at each timestep, and after the last step; empty before `setTimesteps`.
  func trainingSigmas(final alphaBar: Float) -> [Float] {
    guard !timesteps.isEmpty else { return [] }
    let alphaBars = timesteps.map { timestep in (try? noiseSchedule.alphaCumprod(at: Int(timestep))) ?? .nan }
    return (alphaBars + [alphaBar]).map { ((1 - $0) / $0).squareRoot() }
  }

  /// √ᾱ x₀ + √(1-ᾱ) ε.
  func addNoiseByAlpha(_ original: Tensor, noise: Tensor, at index: Int) throws(SchedulerError) -> Tensor {
    try checkIndex(index)
    try checkShapes(original, noise, "noise")
    let alphaBar = try noiseSchedule.alphaCumprod(at: Int(timesteps[index]))
    return linearCombination((alphaBar.squareRoot(), original), ((1 - alphaBar).squareRoot(), noise))
  }
}
