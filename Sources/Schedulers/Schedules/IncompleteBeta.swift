import Foundation

/// The regularized incomplete beta function I_x(a, b) and its inverse.
enum IncompleteBeta {
  /// I_x(a, b) for x in 0...1 and small positive a, b.
  ///
  /// Continued fraction of Didonato & Morris (DLMF 8.17.22), evaluated by Lentz's method; converges to double precision.
  static func regularized(_ x: Double, _ a: Double, _ b: Double) -> Double {
    if x <= 0 { return 0 }
    if x >= 1 { return 1 }
    // The fraction converges fast only below the mean; above it the complement is taken.
    if x > (a + 1) / (a + b + 2) { return 1 - regularized(1 - x, b, a) }
    let front = pow(x, a) * pow(1 - x, b) / (a * beta(a, b))
    let tiny = 1e-300
    var c = 1.0
    var d = 1 / nonZero(1 - (a + b) * x / (a + 1), tiny)
    var fraction = d
    for index in 1...500 {
      let m = Double(index)
      let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
      d = 1 / nonZero(1 + even * d, tiny)
      c = nonZero(1 + even / c, tiny)
      fraction *= d * c
      let odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
      d = 1 / nonZero(1 + odd * d, tiny)
      c = nonZero(1 + odd / c, tiny)
      let change = d * c
      fraction *= change
      if abs(change - 1) < 1e-16 { break }
    }
    return front * fraction
  }

  /// The x with I_x(a, b) = p: the quantile of the beta distribution, `scipy.stats.beta.ppf(p, a, b)`.
  static func quantile(_ p: Double, _ a: Double, _ b: Double) -> Double {
    guard p > 0 else { return 0 }
    guard p < 1 else { return 1 }
    if p > 0.5 { return 1 - quantile(1 - p, b, a) }
    var low = 0.0
    var high = 1.0
    // Near 0, I_x(a, b) is x^a / (a B(a, b)).
    var x = min(pow(p * a * beta(a, b), 1 / a), 0.5)
    for _ in 0..<100 {
      let error = regularized(x, a, b) - p
      if error > 0 { high = x } else { low = x }
      let density = pow(x, a - 1) * pow(1 - x, b - 1) / beta(a, b)
      var next = x - error / density
      if !(next > low && next < high) { next = (low + high) / 2 }
      if abs(next - x) <= 1e-16 * x { return next }
      x = next
    }
    return x
  }

  private static func beta(_ a: Double, _ b: Double) -> Double { tgamma(a) * tgamma(b) / tgamma(a + b) }

  private static func nonZero(_ value: Double, _ tiny: Double) -> Double { abs(value) < tiny ? tiny : value }
}
