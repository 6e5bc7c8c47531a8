/// GGUF's block types as `Float`: scales are half precision, products and differences are rounded one by one.
///
/// Source: the layouts of `gguf.quants` of the `gguf` Python package 0.19; results equal its bit for bit.
enum BlockDequantization {
  @inline(__always)
  private static func half(_ source: UnsafeRawPointer, _ offset: Int) -> Float {
    Float(halfBits: source.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inline(__always)
  private static func byte(_ source: UnsafeRawPointer, _ offset: Int) -> UInt8 {
    source.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// Byte i is 16 when bit i of the lowest byte is set: the fifth bits of eight values.
  @inline(__always)
  private static func sixteens(_ bits: UInt32) -> UInt64 {
    let isolated = (UInt64(bits & 0xFF) &* 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201
    return ((isolated &+ 0x7F7F_7F7F_7F7F_7F7F) & 0x8080_8080_8080_8080) >> 3
  }

  // MARK: - Blocks of 32

  /// Q4_0 is a scale and 16 bytes, low nibbles for elements 0-15, high ones for 16-31; Q4_1 has a minimum after the scale.
  static func q4(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>, hasMinimum: Bool) {
    let header = hasMinimum ? 4 : 2
    for block in 0..<blocks {
      let from = source + block * (header + 16)
      let to = target + block * 32
      let scale = half(from, 0)
      if hasMinimum {
        let minimum = half(from, 2)
        for index in 0..<16 {
          let packed = byte(from, header + index)
          to[index] = scale * Float(packed & 15) + minimum
          to[index + 16] = scale * Float(packed >> 4) + minimum
        }
      } else {
        for index in 0..<16 {
          let packed = byte(from, header + index)
          to[index] = scale * Float(Int32(packed & 15) - 8)
          to[index + 16] = scale * Float(Int32(packed >> 4) - 8)
        }
      }
    }
  }

  /// Q5_0 is a scale, 32 fifth bits and nibbles as in Q4_0; Q5_1 has a minimum after the scale.
  static func q5(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>, hasMinimum: Bool) {
    let header = hasMinimum ? 4 : 2
    for block in 0..<blocks {
      let from = source + block * (header + 20)
      let to = target + block * 32
      let scale = half(from, 0)
      let minimum = hasMinimum ? half(from, 2) : 0
      let fifth = from.loadUnaligned(fromByteOffset: header, as: UInt32.self)
      let packed = (
        from.loadUnaligned(fromByteOffset: header + 4, as: UInt64.self),
        from.loadUnaligned(fromByteOffset: header + 12, as: UInt64.self)
      )
      let nibbles: UInt64 = 0x0F0F_0F0F_0F0F_0F0F
      // Eight values a word, in the order of the elements.
      let values = (
        packed.0 & nibbles | sixteens(fifth), packed.1 & nibbles | sixteens(fifth >> 8),
        packed.0 >> 4 & nibbles | sixteens(fifth >> 16), packed.1 >> 4 & nibbles | sixteens(fifth >> 24)
      )
      withUnsafeBytes(of: values) { values in
        if hasMinimum {
          for index in 0..<32 { to[index] = scale * Float(values[index]) + minimum }
        } else {
          for index in 0..<32 { to[index] = scale * Float(Int32(values[index]) - 16) }
        }
      }
    }
  }

  /// Q8_0: scale, 32 signed bytes.
  static func q8(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 34
      let to = target + block * 32
      let scale = half(from, 0)
      for index in 0..<32 { to[index] = Float(Int8(bitPattern: byte(from, 2 + index))) * scale }
    }
  }

  // MARK: - Superblocks of 256

  /// Q2_K: 16 bytes of scale and minimum nibbles, 64 bytes of 2-bit values, scale of scales, scale of minima.
  static func q2K(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 84
      let to = target + block * 256
      let scale = half(from, 80)
      let minimum = half(from, 82)
      for group in 0..<16 {
        let packedScale = byte(from, group)
        let groupScale = scale * Float(packedScale & 15)
        let groupMinimum = minimum * Float(packedScale >> 4)
        // Groups 0-7 share the first 32 bytes, two groups a shift of 2 bits.
        let bytes = from + 16 + group / 8 * 32 + group % 2 * 16
        let shift = UInt8(group % 8 / 2 * 2)
        for index in 0..<16 {
          to[group * 16 + index] = groupScale * Float(byte(bytes, index) >> shift & 3) - groupMinimum
        }
      }
    }
  }

  /// Q3_K: 32 bytes of third bits (set means no offset), 64 bytes of 2-bit values, 12 bytes of 6-bit scales, scale of scales.
  static func q3K(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 110
      let to = target + block * 256
      let scale = half(from, 108)
      for group in 0..<16 {
        let low = byte(from, 96 + group % 8) >> UInt8(group / 8 * 4) & 15
        let high = byte(from, 104 + group % 4) >> UInt8(group / 4 * 2) & 3
        let groupScale = scale * Float(Int32(low | high << 4) - 32)
        let bytes = from + 32 + group / 8 * 32 + group % 2 * 16
        let shift = UInt8(group % 8 / 2 * 2)
        let masks = from + group % 2 * 16
        let maskShift = UInt8(group / 2)
        for index in 0..<16 {
          let value = Int32(byte(bytes, index) >> shift & 3)
          let offset = Int32(~byte(masks, index) >> maskShift & 1) << 2
          to[group * 16 + index] = groupScale * Float(value - offset)
        }
      }
    }
  }

  /// The 6-bit scale and minimum of one of the eight groups of Q4_K and Q5_K, from their 12 packed bytes.
  @inline(__always)
  private static func scaleAndMinimum(_ packed: UnsafeRawPointer, _ group: Int) -> (scale: Float, minimum: Float) {
    if group < 4 { return (Float(byte(packed, group) & 63), Float(byte(packed, group + 4) & 63)) }
    let nibbles = byte(packed, group + 4)
    return (
      Float(nibbles & 15 | byte(packed, group - 4) >> 2 & 0x30), Float(nibbles >> 4 | byte(packed, group) >> 2 & 0x30)
    )
  }

  /// Q4_K: scale of scales, scale of minima, 12 bytes of 6-bit scales and minima, 128 bytes of nibbles.
  static func q4K(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 144
      let to = target + block * 256
      let scale = half(from, 0)
      let minimum = half(from, 2)
      for group in 0..<8 {
        let packed = scaleAndMinimum(from + 4, group)
        let groupScale = scale * packed.scale
        let groupMinimum = minimum * packed.minimum
        let bytes = from + 16 + group / 2 * 32
        let shift = UInt8(group % 2 * 4)
        for index in 0..<32 {
          to[group * 32 + index] = groupScale * Float(byte(bytes, index) >> shift & 15) - groupMinimum
        }
      }
    }
  }

  /// Q5_K: as Q4_K, with 32 bytes of fifth bits before the nibbles.
  static func q5K(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 176
      let to = target + block * 256
      let scale = half(from, 0)
      let minimum = half(from, 2)
      for group in 0..<8 {
        let packed = scaleAndMinimum(from + 4, group)
        let groupScale = scale * packed.scale
        let groupMinimum = minimum * packed.minimum
        let fifths = from + 16
        let bytes = from + 48 + group / 2 * 32
        let shift = UInt8(group % 2 * 4)
        let fifthShift = UInt8(group)
        for index in 0..<32 {
          let value = byte(bytes, index) >> shift & 15 | (byte(fifths, index) >> fifthShift & 1) << 4
          to[group * 32 + index] = groupScale * Float(value) - groupMinimum
        }
      }
    }
  }

  /// Q6_K: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, scale of scales.
  static func q6K(_ source: UnsafeRawPointer, _ blocks: Int, _ target: UnsafeMutablePointer<Float>) {
    for block in 0..<blocks {
      let from = source + block * 210
      let to = target + block * 256
      let scale = half(from, 208)
      // Rows of 32 values: four a half of the block, which has 64 bytes of nibbles and 32 of bit pairs.
      for row in 0..<8 {
        let nibbles = from + row / 4 * 64 + row % 2 * 32
        let shift = UInt8(row % 4 / 2 * 4)
        let pairs = from + 128 + row / 4 * 32
        let pairShift = UInt8(row % 4 * 2)
        for part in 0..<2 {
          let groupScale = scale * Float(Int8(bitPattern: byte(from, 192 + row * 2 + part)))
          for index in (part * 16)..<(part * 16 + 16) {
            let value = byte(nibbles, index) >> shift & 15 | (byte(pairs, index) >> pairShift & 3) << 4
            to[row * 32 + index] = groupScale * Float(Int32(value) - 32)
          }
        }
      }
    }
  }
}
