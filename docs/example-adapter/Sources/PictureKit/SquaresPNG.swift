import Foundation

/// A PNG of coloured squares, stored without compression.
struct SquaresPNG {
  let words: String
  let side: Int

  var data: Data {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in words.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    var rows: [UInt8] = []
    rows.reserveCapacity((side * 3 + 1) * side)
    var colours: [[UInt8]] = []
    for _ in 0..<64 {
      hash = hash &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      colours.append([UInt8(hash >> 56), UInt8(truncatingIfNeeded: hash >> 48), UInt8(truncatingIfNeeded: hash >> 40)])
    }
    for row in 0..<side {
      rows.append(0)
      for column in 0..<side { rows += colours[row * 8 / side * 8 + column * 8 / side] }
    }
    var png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    append("IHDR", big(UInt32(side)) + big(UInt32(side)) + [8, 2, 0, 0, 0], to: &png)
    append("IDAT", stored(rows), to: &png)
    append("IEND", [], to: &png)
    return Data(png)
  }

  private func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

  private func append(_ type: String, _ body: [UInt8], to png: inout [UInt8]) {
    let content = Array(type.utf8) + body
    var crc: UInt32 = .max
    for byte in content {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xedb8_8320 : crc >> 1 }
    }
    png += big(UInt32(body.count)) + content + big(~crc)
  }

  /// A zlib stream of stored blocks.
  private func stored(_ bytes: [UInt8]) -> [UInt8] {
    var output: [UInt8] = [0x78, 0x01]
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65521
      b = (b + a) % 65521
    }
    for start in stride(from: 0, to: bytes.count, by: 65535) {
      let end = min(start + 65535, bytes.count)
      let count = UInt16(end - start)
      output.append(end == bytes.count ? 1 : 0)
      output += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
      output += bytes[start..<end]
    }
    return output + big(b << 16 | a)
  }
}
