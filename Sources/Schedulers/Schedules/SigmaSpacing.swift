import Foundation

/// How the noise levels σ of a run are placed.
public enum SigmaSpacing: String, Sendable, CaseIterable {
  /// At the spaced timesteps.
  case timesteps
  /// Evenly in σ^(1/7) (Karras et al. 2022, arXiv:2206.00364, eq. 5).
  case karras
  /// Evenly in log σ.
  case exponential
  /// At the quantiles of a Beta(0.6, 0.6) distribution (Lee et al. 2024, arXiv:2407.12173).
  case beta
  /// Evenly in log-SNR (Lu et al. 2022, arXiv:2206.00927); DPM-Solver multistep only.
  case lu

  /// Reads the `use_…_sigmas` switches; at most one may be on.
  init(_ reader: ConfigReader, allowsLu: Bool = false) throws(SchedulerError) {
    var chosen: [SigmaSpacing] = []
    if try reader.bool("use_karras_sigmas", default: false) { chosen.append(.karras) }
    if try reader.bool("use_exponential_sigmas", default: false) { chosen.append(.exponential) }
    if try reader.bool("use_beta_sigmas", default: false) { chosen.append(.beta) }
    if allowsLu, try reader.bool("use_lu_lambdas", default: false) { chosen.append(.lu) }
    guard chosen.count <= 1 else {
      throw SchedulerError(
        .invalidConfig,
        "\(reader.className): expected one of use_karras_sigmas, use_exponential_sigmas, use_beta_sigmas, use_lu_lambdas, "
          + "found \(chosen.map(\.rawValue).joined(separator: " and "))")
    }
    self = chosen.first ?? .timesteps
  }

  /// N levels falling from `highest` to `lowest`; `timesteps` has no formula of its own and isn't asked.
  func levels(_ count: Int, from highest: Double, to lowest: Double) -> [Double] {
    switch self {
    case .timesteps: []
    case .karras:
      NumericArrays.linspace(0, 1, count: count).map { ramp in
        let start = pow(highest, 1 / 7)
        return pow(start + ramp * (pow(lowest, 1 / 7) - start), 7)
      }
    case .exponential:
      NumericArrays.linspace(log(highest), log(lowest), count: count).map { exp($0) }
    case .beta:
      NumericArrays.linspace(0, 1, count: count).map { lowest + IncompleteBeta.quantile(1 - $0, 0.6, 0.6) * (highest - lowest) }
    case .lu:
      NumericArrays.linspace(0, 1, count: count).map { ramp in
        let start = Double(Float(log(highest)))
        return exp(start + ramp * (Double(Float(log(lowest))) - start))
      }
    }
  }
}

/// Explicit ends (`sigma_min`, `sigma_max`) of the Karras, exponential and beta spacings.
///
/// diffusers gives only two classes these options, but every class heeds the keys when its config file stores them.
struct SigmaRange: Sendable {
  let lowest: Double?
  let highest: Double?

  init(_ reader: ConfigReader) throws(SchedulerError) {
    lowest = try reader.optionalDouble("sigma_min")
    highest = try reader.optionalDouble("sigma_max")
    guard (lowest ?? 1e-9) > 0, (highest ?? .greatestFiniteMagnitude) > (lowest ?? 0), (highest ?? 1) < .infinity else {
      throw SchedulerError(
        .invalidConfig,
        "\(reader.className): sigma_min, sigma_max: expected 0 < sigma_min < sigma_max, found \(lowest ?? .nan), \(highest ?? .nan)"
      )
    }
  }
}

/// Finds the (fractional) timestep of a noise level: linear in log σ between the training steps.
struct SigmaInverse {
  private let logSigmas: [Float]

  init(trainingSigmas: [Float]) { logSigmas = trainingSigmas.map { Float(log(Double($0))) } }

  /// The timestep of σ, within 0...T-1.
  func timestep(of sigma: Double) -> Double { timestep(ofLog: log(max(sigma, 1e-10))) }

  private func timestep(ofLog logSigma: Double) -> Double {
    // The last entry that isn't above logSigma; training sigmas rise.
    var low = 0
    var high = logSigmas.count
    while low < high {
      let middle = (low + high) / 2
      if logSigma >= Double(logSigmas[middle]) { low = middle + 1 } else { high = middle }
    }
    let index = min(max(low - 1, 0), logSigmas.count - 2)
    let span = Double(logSigmas[index] - logSigmas[index + 1])
    let weight = min(max((Double(logSigmas[index]) - logSigma) / span, 0), 1)
    return (1 - weight) * Double(index) + weight * Double(index + 1)
  }
}
