import Foundation

/// The formula that gives each training step's noise variance β.
public enum BetaSchedule: String, Sendable, CaseIterable {
  /// β evenly spaced (Ho et al. 2020, arXiv:2006.11239).
  case linear
  /// √β evenly spaced: the schedule of Stable Diffusion.
  case scaledLinear = "scaled_linear"
  /// ᾱ follows a squared cosine, β capped at 0.999 (Nichol & Dhariwal 2021, arXiv:2102.09672, eq. 17).
  case squaredcosCapV2 = "squaredcos_cap_v2"
  /// β follows a logistic curve (GeoDiff; DDPM only).
  case sigmoid
  /// ᾱ falls exponentially, exp(-12 t) (Heun only).
  case exp
  /// ᾱ from a Laplace distribution of log-SNR (DDPM only).
  case laplace
}

/// The forward process: how much of the image is left, ᾱ, after each training step.
public struct NoiseSchedule: Sendable, Equatable {
  /// The product of 1 - β up to each training step, in (0, 1], falling with the index.
  ///
  /// Entry `t` belongs to timestep t.
  public let alphasCumprod: [Float]
  /// Whether β was rescaled so that the last step is pure noise.
  public let hasZeroTerminalSNR: Bool

  /// The number of training steps.
  public var count: Int { alphasCumprod.count }

  /// Reads the schedule's keys.
  ///
  /// - Parameters:
  ///   - reader: The config.
  ///   - betas: The class's default `beta_start` and `beta_end`.
  ///   - schedule: The class's default `beta_schedule`.
  ///   - extraSchedules: What the class knows beyond linear, scaled_linear and squaredcos_cap_v2.
  ///   - rescaling: What the class does with `rescale_betas_zero_snr`.
  init(
    _ reader: ConfigReader, betas defaults: (start: Double, end: Double) = (0.0001, 0.02), schedule: BetaSchedule = .linear,
    extraSchedules: [BetaSchedule] = [], rescaling: Rescaling = .ignored
  ) throws(SchedulerError) {
    let trained = try reader.floats("trained_betas")
    let count =
      if let trained { trained.count } else { try reader.int("num_train_timesteps", default: 1000, in: 2...1_000_000) }
    let start = try reader.double("beta_start", default: defaults.start, in: 0...1)
    let end = try reader.double("beta_end", default: defaults.end, in: 0...1)
    let formula = try reader.choice(
      "beta_schedule", default: schedule, allowed: [.linear, .scaledLinear, .squaredcosCapV2] + extraSchedules)
    var betas = trained ?? Self.betas(formula, from: start, to: end, count: count)
    guard betas.count >= 2, betas.allSatisfy({ $0 >= 0 && $0 < 1 }) else {
      throw SchedulerError(
        .invalidConfig,
        "\(reader.className): betas: expected at least two values in 0..<1, check beta_start, beta_end, trained_betas")
    }
    hasZeroTerminalSNR = rescaling == .ignored ? false : try reader.bool("rescale_betas_zero_snr", default: false)
    if hasZeroTerminalSNR { betas = Self.rescaledToZeroTerminalSNR(betas) }
    var product = 1.0
    var alphasCumprod = betas.map { beta in
      product *= Double(1 - beta)
      return Float(product)
    }
    if hasZeroTerminalSNR, rescaling == .finite { alphasCumprod[alphasCumprod.count - 1] = 0x1p-24 }
    guard alphasCumprod.dropLast().allSatisfy({ $0 > 0 }), (alphasCumprod.last ?? 0) > 0 || hasZeroTerminalSNR else {
      throw SchedulerError(.invalidConfig, "\(reader.className): betas: no signal is left before the last training step")
    }
    self.alphasCumprod = alphasCumprod
  }

  /// What a class does with `rescale_betas_zero_snr`.
  enum Rescaling {
    /// It doesn't know the key.
    case ignored
    /// The last ᾱ becomes exactly 0.
    case exact
    /// The last ᾱ becomes 2^-24, so that σ stays finite (4096).
    case finite
  }

  private static func betas(_ schedule: BetaSchedule, from start: Double, to end: Double, count: Int) -> [Float] {
    switch schedule {
    case .linear:
      return NumericArrays.linspaceFloat(Float(start), Float(end), count: count)
    case .scaledLinear:
      return NumericArrays.linspaceFloat(Float(start.squareRoot()), Float(end.squareRoot()), count: count).map { $0 * $0 }
    case .sigmoid:
      return NumericArrays.linspaceFloat(-6, 6, count: count).map {
        1 / (1 + Foundation.exp(-$0)) * Float(end - start) + Float(start)
      }
    case .squaredcosCapV2:
      return betas(count: count) { time in
        let cosine = cos((time + 0.008) / 1.008 * .pi / 2)
        return cosine * cosine
      }
    case .exp:
      return betas(count: count) { Foundation.exp($0 * -12) }
    case .laplace:
      return betas(count: count) { time in
        let side = 0.5 - time
        let logSNR = -0.5 * (side.sign == .minus ? -1 : 1) * log(1 - 2 * abs(side) + 1e-6)
        let snr = Foundation.exp(logSNR)
        return (snr / (1 + snr)).squareRoot()
      }
    }
  }

  /// β from a continuous ᾱ(t), t in 0...1, capped at 0.999.
  private static func betas(count: Int, alphaBar: (Double) -> Double) -> [Float] {
    (0..<count).map { index in
      let ratio = alphaBar(Double(index + 1) / Double(count)) / alphaBar(Double(index) / Double(count))
      return Float(min(1 - ratio, 0.999))
    }
  }

  /// Shifts and scales √ᾱ so that it ends at 0 and keeps its first value.
  ///
  /// Source: Lin et al. 2023, arXiv:2305.08891, algorithm 1.
  private static func rescaledToZeroTerminalSNR(_ betas: [Float]) -> [Float] {
    var product = 1.0
    let roots = betas.map { beta in
      product *= Double(1 - beta)
      return Float(product).squareRoot()
    }
    let first = roots[0]
    let last = roots[roots.count - 1]
    let scale = first / (first - last)
    let alphaBars = roots.map { root in
      let scaled = (root - last) * scale
      return scaled * scaled
    }
    return alphaBars.indices.map { 1 - ($0 == 0 ? alphaBars[0] : alphaBars[$0] / alphaBars[$0 - 1]) }
  }

  /// ᾱ at a timestep; like Python, -1 is the last one, which `trailing` spacing can reach by rounding.
  func alphaCumprod(at timestep: Int) throws(SchedulerError) -> Float {
    let index = timestep < 0 ? timestep + count : timestep
    guard alphasCumprod.indices.contains(index) else {
      throw SchedulerError(.invalidArgument, "timestep \(timestep): expected one of the \(count) training steps; use fewer steps")
    }
    return alphasCumprod[index]
  }

  /// √((1 - ᾱ) / ᾱ) of each training step: the noise level in units of the signal, rising with the index.
  public var sigmas: [Float] { alphasCumprod.map { ((1 - $0) / $0).squareRoot() } }
}
