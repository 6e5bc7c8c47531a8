#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The normals of `numpy.random.RandomState(seed).standard_normal(shape)`, rounded to `Float`.
///
/// Marsaglia's polar method in double precision over 53-bit uniforms; the second number of a pair waits for the next
/// draw, also across calls. Source: Marsaglia & Bray 1964; NumPy keeps this "legacy" stream frozen (NEP 19).
public struct NumPyRandomState: NoiseSource, Equatable {
  private var engine: MersenneTwister
  private var cached: Double?

  /// Makes the generator from the low 32 bits of the seed; NumPy refuses larger seeds.
  public init(seed: UInt64) { engine = MersenneTwister(seed: UInt32(truncatingIfNeeded: seed)) }

  /// Draws as `RandomState.standard_normal(shape)` does.
  public mutating func normals(shape: Shape) -> Tensor {
    Tensor(shape: shape) { buffer in
      for index in buffer.indices { buffer.initializeElement(at: index, to: Float(nextNormal())) }
    }
  }

  /// 27 high bits of one word and 26 of the next, over 2^53.
  private mutating func nextUniform() -> Double {
    let high = Double(engine.next() >> 5)
    let low = Double(engine.next() >> 6)
    return (high * 0x1p26 + low) / 0x1p53
  }

  private mutating func nextNormal() -> Double {
    if let waiting = cached {
      cached = nil
      return waiting
    }
    while true {
      let first = 2 * nextUniform() - 1
      let second = 2 * nextUniform() - 1
      let square = first * first + second * second
      guard square > 0, square < 1 else { continue }
      let factor = (-2 * log(square) / square).squareRoot()
      cached = factor * first
      return factor * second
    }
  }
}
