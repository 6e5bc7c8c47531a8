/// The few NumPy array makers that schedules are defined by, with NumPy's rounding quirks.
enum NumericArrays {
  /// `numpy.linspace(start, stop, count)` in double precision.
  static func linspace(_ start: Double, _ stop: Double, count: Int, includesEnd: Bool = true) -> [Double] {
    let divisions = includesEnd ? count - 1 : count
    guard divisions > 0 else { return [Double](repeating: start, count: count) }
    let step = (stop - start) / Double(divisions)
    var values = (0..<count).map { Double($0) * step + start }
    if includesEnd { values[count - 1] = stop }
    return values
  }

  /// `numpy.arange(start, 0, -step)`: the length is a rounded-up quotient, so rounding can add one value at or near 0.
  static func arangeDown(from start: Double, step: Double) -> [Double] {
    let count = Int((-start / -step).rounded(.up))
    let delta = (start - step) - start
    return (0..<count).map { start + Double($0) * delta }
  }

  /// `numpy.interp(x, [0, 1, 2, …], values)`: linear between the entries, constant beyond the ends.
  static func interpolate(_ values: [Float], at position: Double) -> Double {
    guard position > 0 else { return Double(values[0]) }
    guard position < Double(values.count - 1) else { return Double(values[values.count - 1]) }
    let low = Int(position)
    let start = Double(values[low])
    return (Double(values[low + 1]) - start) * (position - Double(low)) + start
  }

  /// `torch.linspace(start, stop, count)` in single precision: counted from the nearer end, each rounded once.
  static func linspaceFloat(_ start: Float, _ stop: Float, count: Int) -> [Float] {
    guard count > 1 else { return [Float](repeating: start, count: count) }
    let step = (stop - start) / Float(count - 1)
    return (0..<count).map { index in
      // The product of two floats is exact in a double, so this equals a fused multiply-add.
      let (end, distance) = index < count / 2 ? (start, index) : (stop, index + 1 - count)
      return Float(Double(step) * Double(distance) + Double(end))
    }
  }
}

extension Double {
  /// Rounded to the nearest whole number, halves to even, as `numpy.round` does.
  var roundedHalfToEven: Double { rounded(.toNearestOrEven) }
}
