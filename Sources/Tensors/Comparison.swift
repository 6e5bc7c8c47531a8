/// How far one tensor is from another, with the worst place.
public struct Comparison: Sendable, Equatable {
  /// The largest |actual - expected|.
  public var maxAbsolute: Double
  /// `maxAbsolute` over the largest |expected|; the "relative" of the tolerance policy.
  public var maxRelative: Double
  /// Mean of squared differences over mean of squared expected values (NMSE).
  public var normalizedMeanSquaredError: Double
  /// Row-major position of the largest difference, or of the first value that isn't finite.
  public var worstIndex: Int
  /// The actual value there.
  public var worstActual: Float
  /// The expected value there.
  public var worstExpected: Float
  /// Whether a value is NaN or infinite in one tensor and not the same in the other; then no limit passes.
  public var hasNonFiniteMismatch: Bool

  /// Compares two buffers of equal length.
  public init(actual: UnsafeBufferPointer<Float>, expected: UnsafeBufferPointer<Float>) {
    precondition(actual.count == expected.count)
    var worst = -1.0
    var worstAt = 0
    var scale = 0.0
    var squaredError = 0.0
    var squaredExpected = 0.0
    var mismatch = false
    for index in actual.indices {
      let a = actual[index]
      let e = expected[index]
      guard a.isFinite, e.isFinite else {
        if a != e, !mismatch {
          mismatch = true
          worstAt = index
        }
        continue
      }
      let difference = abs(Double(a) - Double(e))
      scale = max(scale, abs(Double(e)))
      squaredError += difference * difference
      squaredExpected += Double(e) * Double(e)
      if difference > worst, !mismatch {
        worst = difference
        worstAt = index
      }
    }
    maxAbsolute = mismatch ? .infinity : max(worst, 0)
    maxRelative = mismatch ? .infinity : (worst <= 0 ? 0 : (scale > 0 ? worst / scale : .infinity))
    normalizedMeanSquaredError =
      mismatch ? .infinity : (squaredError == 0 ? 0 : (squaredExpected > 0 ? squaredError / squaredExpected : .infinity))
    worstIndex = worstAt
    worstActual = actual.isEmpty ? 0 : actual[worstAt]
    worstExpected = expected.isEmpty ? 0 : expected[worstAt]
    hasNonFiniteMismatch = mismatch
  }

  /// Compares two tensors; nil when their shapes differ.
  public init?(actual: Tensor, expected: Tensor) {
    guard actual.shape == expected.shape else { return nil }
    self = actual.withUnsafeBuffer { a in expected.withUnsafeBuffer { e in Comparison(actual: a, expected: e) } }
  }

  /// Peak signal-to-noise ratio in dB for values whose full range is `peak`; infinite for equal tensors.
  public static func psnr(actual: Tensor, expected: Tensor, peak: Double = 1) -> Double {
    guard actual.shape == expected.shape else { return -.infinity }
    return actual.withUnsafeBuffer { a in
      expected.withUnsafeBuffer { e in
        var sum = 0.0
        for index in a.indices {
          let difference = Double(a[index]) - Double(e[index])
          sum += difference * difference
        }
        guard sum == sum else { return -.infinity }
        let mean = sum / Double(max(a.count, 1))
        return mean == 0 ? .infinity : 10 * log10Double(peak * peak / mean)
      }
    }
  }
}
