extension Float {
  /// The value as IEEE half-precision bits, rounded to nearest, ties to even; beyond 65520 it's infinity.
  @inlinable
  @inline(__always)
  public var halfBits: UInt16 {
    let sign = UInt16(truncatingIfNeeded: bitPattern >> 16) & 0x8000
    let magnitude = bitPattern & 0x7FFF_FFFF
    // Adding one half rounds a value below 2^-14 to the step of the subnormal numbers, 2^-24.
    let small = (Float(bitPattern: magnitude) + 0.5).bitPattern &- 0x3F00_0000
    let normal = (magnitude &- 0x3800_0000 &+ 0x0FFF &+ (magnitude >> 13 & 1)) >> 13
    let large: UInt32 = magnitude > 0x7F80_0000 ? 0x7E00 : 0x7C00
    let result = magnitude >= 0x4780_0000 ? large : magnitude < 0x3880_0000 ? small : normal
    return UInt16(truncatingIfNeeded: result) | sign
  }

  /// The value as the upper half of its bits, rounded to nearest, ties to even; NaN stays NaN.
  @inlinable
  @inline(__always)
  public var bfloatBits: UInt16 {
    let rounded = (bitPattern &+ 0x7FFF &+ (bitPattern >> 16 & 1)) >> 16
    return UInt16(truncatingIfNeeded: isNaN ? bitPattern >> 16 | 0x40 : rounded)
  }
}
