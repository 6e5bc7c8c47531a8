import Tensors
import TestSupport
import Testing

@Suite struct HalfPrecisionTests {
  @Test func readsEveryHalf() {
    for bits in UInt16.min...UInt16.max {
      let expected = Float(Float16(bitPattern: bits))
      let actual = Float(halfBits: bits)
      #expect(actual.bitPattern == expected.bitPattern || actual.isNaN && expected.isNaN, "\(bits)")
    }
  }

  @Test func roundsAsTheHardwareDoes() {
    var random = TestRandom(seed: 3)
    // Every half, the middle between it and the next, and one ulp to either side of the middle; then random bits.
    for bits in UInt16(0)..<0x7C00 {
      let low = Float(Float16(bitPattern: bits))
      let middle = bits == 0x7BFF ? 65520 : (low + Float(Float16(bitPattern: bits + 1))) / 2
      for value in [low, middle, middle.nextUp, middle.nextDown, -low, -middle] {
        if value.halfBits != Float16(value).bitPattern { Issue.record("\(value)") }
      }
    }
    for _ in 0..<200_000 {
      let value = Float(bitPattern: UInt32.random(in: 0 ... .max, using: &random))
      let expected = Float16(value)
      if value.isNaN {
        #expect(Float16(bitPattern: value.halfBits).isNaN)
      } else if value.halfBits != expected.bitPattern {
        Issue.record("\(value): \(value.halfBits), expected \(expected.bitPattern)")
      }
    }
  }

  @Test(arguments: [
    (Float(1), UInt16(0x3F80)), (-2, 0xC000), (1.00390625, 0x3F80), (1.01171875, 0x3F82), (.infinity, 0x7F80),
    (.greatestFiniteMagnitude, 0x7F80), (0x1p-133, 0x0001), (-0.0, 0x8000),
  ])
  func roundsToBFloat(_ value: Float, _ bits: UInt16) {
    // Ties go to the even neighbour: 1.00390625 lies in the middle of 1 and 1.0078125.
    #expect(value.bfloatBits == bits)
  }

  @Test func keepsNaN() {
    for bits: UInt32 in [0x7F80_0001, 0x7FC0_0000, 0xFFFF_FFFF] {
      #expect(Float(bitPattern: UInt32(Float(bitPattern: bits).bfloatBits) << 16).isNaN)
    }
  }
}
