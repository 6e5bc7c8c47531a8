/// Which training steps a run of N steps visits.
///
/// Source: Lin et al. 2023, arXiv:2305.08891, table 2.
public enum TimestepSpacing: String, Sendable, Hashable, Codable, CaseIterable {
  /// Multiples of ⌊T/N⌋ plus an offset; never reaches the last training step.
  case leading
  /// Counted down from the last training step by T/N.
  case trailing
  /// Evenly between 0 and T-1, both included.
  case linspace

  /// The timesteps in walking order (falling), rounded half to even.
  ///
  /// - Parameters:
  ///   - stepCount: N. `trailing` gives N+1 entries for a few N (61, 103, 121, …), the last one -1, as NumPy's `arange` does.
  ///   - trainCount: T.
  ///   - offset: Added for `leading` only.
  func wholeTimesteps(_ stepCount: Int, trainCount: Int, offset: Int) -> [Double] {
    switch self {
    case .leading:
      (0..<stepCount).reversed().map { Double($0 * (trainCount / stepCount) + offset) }
    case .trailing:
      NumericArrays.arangeDown(from: Double(trainCount), step: Double(trainCount) / Double(stepCount))
        .map { $0.roundedHalfToEven - 1 }
    case .linspace:
      NumericArrays.linspace(0, Double(trainCount - 1), count: stepCount).reversed().map(\.roundedHalfToEven)
    }
  }

  /// As ``wholeTimesteps(_:trainCount:offset:)``, but `linspace` keeps fractions (in single precision): what the
  /// schedulers from k-diffusion use.
  func fractionalTimesteps(_ stepCount: Int, trainCount: Int, offset: Int) -> [Double] {
    guard self == .linspace else { return wholeTimesteps(stepCount, trainCount: trainCount, offset: offset) }
    return NumericArrays.linspace(0, Double(trainCount - 1), count: stepCount).reversed().map { Double(Float($0)) }
  }

  /// N of N+1 spaced timesteps, without the smallest: what the DPM-Solver family uses for `leading` and `linspace`.
  func openTimesteps(_ stepCount: Int, trainCount: Int, lastTimestep: Int, offset: Int) -> [Double] {
    switch self {
    case .leading:
      (1..<(stepCount + 1)).reversed().map { Double($0 * (lastTimestep / (stepCount + 1)) + offset) }
    case .trailing:
      NumericArrays.arangeDown(from: Double(lastTimestep), step: Double(trainCount) / Double(stepCount))
        .map { $0.roundedHalfToEven - 1 }
    case .linspace:
      NumericArrays.linspace(0, Double(lastTimestep - 1), count: stepCount + 1).dropFirst().reversed().map(\.roundedHalfToEven)
    }
  }
}
