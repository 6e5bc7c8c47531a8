import Foundation
import Tensors

/// Which form of DPM-Solver advances the sample.
enum DPMSolverAlgorithm: String, Sendable, CaseIterable {
  /// Noise prediction (Lu et al. 2022, arXiv:2206.00927).
  case noise = "dpmsolver"
  /// Data prediction (Lu et al. 2022, arXiv:2211.01095).
  case data = "dpmsolver++"
  /// Noise prediction of the reverse-time SDE.
  case stochasticNoise = "sde-dpmsolver"
  /// Data prediction of the reverse-time SDE.
  case stochasticData = "sde-dpmsolver++"

  /// Whether the network's output is turned into x₀ rather than ε.
  var predictsData: Bool { self == .data || self == .stochasticData }
  /// Whether each step draws noise.
  var isStochastic: Bool { self == .stochasticNoise || self == .stochasticData }

  /// How the derivative terms of the Taylor expansion are weighted.
  enum Variant: String, Sendable, CaseIterable {
    case midpoint, heun
  }

  /// The exact solution over one step with the network's output (x₀ or ε) expanded around the point `from`.
  ///
  /// The coefficients are integrals of exp(±λ) λᵏ/k!; the stochastic forms integrate the SDE, which doubles the exponent.
  struct Integrals {
    /// Of the sample.
    let sample: Float
    /// Of the output itself.
    let constant: Float
    /// Of its first derivative by λ, times the step length, in the exact (`heun`) form.
    let slope: Float
    /// The same in the `midpoint` form.
    let midpointSlope: Float
    /// Of its second derivative, times the squared step length.
    let curvature: Float
    /// Of unit-normal noise.
    let noise: Float

    init(_ algorithm: DPMSolverAlgorithm, from start: SolverPoint, to end: SolverPoint) {
      let h = end.lambda - start.lambda
      switch algorithm {
      case .data:
        let decay = exp(-h) - 1
        sample = end.sigma / start.sigma
        constant = -(end.alpha * decay)
        slope = end.alpha * (decay / h + 1)
        midpointSlope = -0.5 * (end.alpha * decay)
        curvature = -(end.alpha * ((decay + h) / (h * h) - 0.5))
        noise = 0
      case .noise:
        let growth = exp(h) - 1
        sample = end.alpha / start.alpha
        constant = -(end.sigma * growth)
        slope = -(end.sigma * (growth / h - 1))
        midpointSlope = -0.5 * (end.sigma * growth)
        curvature = -(end.sigma * ((growth - h) / (h * h) - 0.5))
        noise = 0
      case .stochasticData:
        let decay = 1 - exp(-2 * h)
        sample = end.sigma / start.sigma * exp(-h)
        constant = end.alpha * decay
        slope = end.alpha * (decay / (-2 * h) + 1)
        midpointSlope = 0.5 * (end.alpha * decay)
        curvature = end.alpha * ((decay - 2 * h) / (4 * h * h) - 0.5)
        noise = end.sigma * decay.squareRoot()
      case .stochasticNoise:
        let growth = exp(h) - 1
        sample = end.alpha / start.alpha
        constant = -2 * (end.sigma * growth)
        slope = -2 * (end.sigma * (growth / h - 1))
        midpointSlope = -(end.sigma * growth)
        curvature = .nan
        noise = end.sigma * (exp(2 * h) - 1).squareRoot()
      }
    }
  }
}
