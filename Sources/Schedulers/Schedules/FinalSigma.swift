/// The noise level at which a run ends.
enum FinalSigma: String, Sendable, CaseIterable {
  /// No noise left.
  case zero
  /// The level of the first training step.
  case sigmaMin = "sigma_min"

  /// Reads `final_sigmas_type`.
  init(_ reader: ConfigReader) throws(SchedulerError) {
    self = try reader.choice("final_sigmas_type", default: .zero, allowed: FinalSigma.allCases)
  }

  /// The level.
  func value(_ schedule: NoiseSchedule) -> Float { self == .zero ? 0 : schedule.sigmas[0] }
}
