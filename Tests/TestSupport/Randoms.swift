public import Tensors

/// A small seeded generator for test data, the same on every platform: SplitMix64 (Steele and others 2014).
public struct TestRandom: RandomNumberGenerator {
  private var state: UInt64

  /// Makes a generator.
  public init(seed: UInt64) { state = seed }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A tensor of values spread evenly over `range`.
  public mutating func tensor(_ shape: Shape, in range: ClosedRange<Float> = -1...1) -> Tensor {
    Tensor((0..<shape.elementCount).map { _ in Float.random(in: range, using: &self) }, shape: shape)
  }
}
