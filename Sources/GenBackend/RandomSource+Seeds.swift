public import Tensors

extension RandomSource {
  /// The largest seed that is taken: NumPy's own generator refuses seeds beyond 32 bits.
  public var largestSeed: UInt64 { self == .numpy ? UInt64(UInt32.max) : .max }
}
