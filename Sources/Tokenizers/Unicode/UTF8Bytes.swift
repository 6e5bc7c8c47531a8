/// The UTF-8 form of a scalar.
enum UTF8Bytes {
  /// Calls `body` with each byte.
  @inline(__always)
  static func forEach(of scalar: UInt32, _ body: (UInt8) -> Void) {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F) }
    switch scalar {
    case ..<0x80:
      body(UInt8(truncatingIfNeeded: scalar))
    case ..<0x800:
      body(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
      body(tail(0))
    case ..<0x10000:
      body(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
      body(tail(6))
      body(tail(0))
    default:
      body(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
      body(tail(12))
      body(tail(6))
      body(tail(0))
    }
  }
}
