/// What a scheduler plans for N steps, as `genbench schedule --json` prints it.
public struct ScheduleTable: Sendable, Equatable, Codable {
  /// The timesteps as the loop walks them.
  public var timesteps: [Double]
  /// σ at each timestep, in units of the signal, then the level that the run ends at.
  public var sigmas: [Float]
  /// ᾱ of the training step at or below each timestep.
  public var alphasCumprodAt: [Float]
  /// What unit-normal noise is multiplied by to become the first sample.
  public var initNoiseSigma: Float
  /// Timesteps per step of the user.
  public var order: Int

  private enum CodingKeys: String, CodingKey {
    case timesteps, sigmas, order
    case alphasCumprodAt = "alphas_cumprod_at"
    case initNoiseSigma = "init_noise_sigma"
  }

  /// Reads the plan out of a scheduler after `setTimesteps`.
  public init(_ scheduler: any Scheduler) {
    timesteps = scheduler.timesteps
    sigmas = scheduler.sigmas
    let alphaBars = scheduler.noiseSchedule.alphasCumprod
    alphasCumprodAt = scheduler.timesteps.map { timestep in
      // -1, which rounding can yield, is the last one; leading spacing with an offset can pass the end.
      timestep < 0 ? alphaBars[alphaBars.count - 1] : alphaBars[min(Int(timestep), alphaBars.count - 1)]
    }
    initNoiseSigma = scheduler.initNoiseSigma
    order = scheduler.order
  }
}
