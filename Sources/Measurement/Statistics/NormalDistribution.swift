import Foundation

/// The standard normal distribution.
public enum NormalDistribution {
  /// The probability of a value above `z`.
  public static func upperTail(_ z: Double) -> Double { 0.5 * erfc(z / 2.0.squareRoot()) }

  /// The value below which a share `probability` lies; infinite at 0 and 1, NaN beyond.
  ///
  /// The rational approximation of Acklam (2003), relative error below 1.2e-9, with one step of Halley's method.
  public static func quantile(_ probability: Double) -> Double {
    guard probability > 0, probability < 1 else {
      return probability == 0 ? -.infinity : probability == 1 ? .infinity : .nan
    }
    let a = [
      -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01,
      2.506628277459239e+00,
    ]
    let b = [
      -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01,
    ]
    let c = [
      -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00,
      2.938163982698783e+00,
    ]
    let d = [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00]
    func polynomial(_ coefficients: [Double], _ x: Double) -> Double { coefficients.reduce(0) { $0 * x + $1 } }
    var x: Double
    if probability < 0.02425 || probability > 1 - 0.02425 {
      let q = (-2 * log(min(probability, 1 - probability))).squareRoot()
      x = polynomial(c, q) / (polynomial(d, q) * q + 1)
      if probability > 0.5 { x = -x }
    } else {
      let q = probability - 0.5
      let r = q * q
      x = polynomial(a, r) * q / (polynomial(b, r) * r + 1)
    }
    let error = 0.5 * erfc(-x / 2.0.squareRoot()) - probability
    let step = error * (2 * Double.pi).squareRoot() * exp(x * x / 2)
    return x - step / (1 + x * step / 2)
  }
}
