#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The normals of `torch.randn(…, generator=torch.Generator("cpu").manual_seed(seed))` for f32 tensors.
///
/// 16 elements or more: the buffer is filled with 24-bit uniforms, then each block of 16 goes through Box-Muller in
/// place (uniform j pairs with j+8); when the count isn't a multiple of 16, the last 16 elements are drawn afresh.
/// Fewer than 16: one by one in double precision, where the sine half of a pair waits in a cache for the next such call.
/// Source: Box & Muller 1958; the layout was established against torch 2.13, see `Fixtures/random`.
public struct TorchGenerator: NoiseSource, Equatable {
  private var engine: MersenneTwister
  private var cached: Double?

  /// Makes the generator; only the low 32 bits of the seed matter, as in torch.
  public init(seed: UInt64) { engine = MersenneTwister(seed: UInt32(truncatingIfNeeded: seed)) }

  /// Draws as `torch.randn(shape)` does.
  public mutating func normals(shape: Shape) -> Tensor {
    Tensor(shape: shape) { buffer in
      if buffer.count < Self.blockLength {
        for index in buffer.indices { buffer.initializeElement(at: index, to: Float(nextNormal())) }
        return
      }
      for index in buffer.indices { buffer.initializeElement(at: index, to: nextUniform24()) }
      var start = 0
      while start + Self.blockLength <= buffer.count {
        Self.transformBlock(of: buffer, at: start)
        start += Self.blockLength
      }
      if start < buffer.count {
        start = buffer.count - Self.blockLength
        for index in start..<buffer.count { buffer[index] = nextUniform24() }
        Self.transformBlock(of: buffer, at: start)
      }
    }
  }

  private static let blockLength = 16
  /// 2π rounded to nearest; `Float.pi` is rounded towards zero.
  private static let fullTurn = Float(2 * Double.pi)

  /// A multiple of 2^-24 in [0, 1).
  private mutating func nextUniform24() -> Float { Float(engine.next() & 0xff_ffff) * 0x1p-24 }

  /// A multiple of 2^-53 in [0, 1); the first word is the high one.
  private mutating func nextUniform53() -> Double {
    let high = UInt64(engine.next())
    let low = UInt64(engine.next())
    return Double((high << 32 | low) & ((1 << 53) - 1)) * 0x1p-53
  }

  private mutating func nextNormal() -> Double {
    if let waiting = cached {
      cached = nil
      return waiting
    }
    let angle = 2 * Double.pi * nextUniform53()
    let radius = (-2 * log1p(-nextUniform53())).squareRoot()
    cached = radius * sin(angle)
    return radius * cos(angle)
  }

  private static func transformBlock(of buffer: UnsafeMutableBufferPointer<Float>, at start: Int) {
    for index in start..<(start + blockLength / 2) {
      let radius = (-2 * logf(1 - buffer[index])).squareRoot()
      let angle = fullTurn * buffer[index + blockLength / 2]
      buffer[index] = radius * cosf(angle)
      buffer[index + blockLength / 2] = radius * sinf(angle)
    }
  }
}
