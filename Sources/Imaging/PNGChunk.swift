/// A chunk of a PNG file: length, type, data and CRC (PNG specification, third edition, section 5.3).
struct PNGChunk {
  let type: String
  let data: ArraySlice<UInt8>

  /// Chunks whose type begins with a capital letter must be understood; the others may be left out.
  var isCritical: Bool { type.utf8.first.map { $0 & 0x20 == 0 } ?? false }

  init(type: String, data: ArraySlice<UInt8>) {
    self.type = type
    self.data = data
  }

  private static let mostChunks = 1 << 18

  /// All chunks up to `IEND`; an ancillary chunk with a wrong CRC is left out.
  static func read(_ bytes: [UInt8], file: String) throws(ImageError) -> [PNGChunk] {
    guard bytes.starts(with: PNGFile.signature) else {
      throw ImageError(.invalid, file: file, "not a PNG: the first 8 bytes aren't its signature")
    }
    var chunks: [PNGChunk] = []
    var offset = PNGFile.signature.count
    let reader = ByteReader(bytes[...])
    while true {
      guard let length = reader.u32(at: offset), offset + 8 <= bytes.count else {
        throw ImageError(.invalid, file: file, "the PNG is cut off after \(bytes.count) bytes: no IEND chunk")
      }
      guard chunks.count < mostChunks else {
        throw ImageError(.unsupported, file: file, "the PNG has more than \(mostChunks) chunks; save the image anew")
      }
      let typeBytes = bytes[(offset + 4)..<(offset + 8)]
      let type = String(decoding: typeBytes, as: UTF8.self)
      guard typeBytes.allSatisfy({ (65...90).contains($0) || (97...122).contains($0) }) else {
        throw ImageError(.invalid, file: file, "damaged PNG: no chunk begins at byte \(offset)")
      }
      let end = offset + 8 + length
      guard let expected = reader.u32(at: end) else {
        throw ImageError(
          .invalid, file: file,
          "the PNG is cut off: chunk \(type) at byte \(offset) needs \(length + 12) bytes, \(bytes.count - offset) are there")
      }
      let chunk = PNGChunk(type: type, data: bytes[(offset + 8)..<end])
      if Int(CRC32.checksum(bytes[(offset + 4)..<end])) == expected {
        chunks.append(chunk)
      } else if chunk.isCritical {
        throw ImageError(.invalid, file: file, "damaged PNG: the CRC of chunk \(type) at byte \(offset) doesn't fit its data")
      }
      if type == "IEND" { return chunks }
      offset = end + 4
    }
  }

  /// Appends the chunk with its length and CRC.
  func append(to output: inout [UInt8]) {
    PNGChunk.append(UInt32(data.count), to: &output)
    let start = output.count
    output.append(contentsOf: type.utf8)
    output.append(contentsOf: data)
    PNGChunk.append(CRC32.checksum(output[start...]), to: &output)
  }

  private static func append(_ value: UInt32, to output: inout [UInt8]) {
    for shift in [24, 16, 8, 0] { output.append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
  }
}

extension PNGChunk {
  /// A `tEXt` chunk, or an `iTXt` chunk when the value has characters beyond Latin-1 or a NUL.
  init(text: PNGFile.Text) throws(ImageError) {
    let keyword = text.keyword.unicodeScalars
    guard (1...79).contains(keyword.count),
      keyword.allSatisfy({ (32...126).contains($0.value) || (161...255).contains($0.value) })
    else {
      throw ImageError(.invalid, file: "PNG data", "text keyword: expected 1 to 79 Latin-1 characters, found '\(text.keyword)'")
    }
    let prefix = keyword.map { UInt8($0.value) } + [0]
    // NUL separates the fields and can't be part of a value.
    let value = text.value.unicodeScalars.filter { $0.value != 0 }
    if value.allSatisfy({ $0.value < 256 }) {
      self.init(type: "tEXt", data: (prefix + value.map { UInt8($0.value) })[...])
    } else {
      // No compression (two zeros), no language tag, no translated keyword.
      let utf8 = value.flatMap { Array(String($0).utf8) }
      self.init(type: "iTXt", data: (prefix + [0, 0, 0, 0] + utf8)[...])
    }
  }

  /// The text of a `tEXt` or an uncompressed `iTXt` chunk.
  var text: PNGFile.Text? {
    guard type == "tEXt" || type == "iTXt", let end = data.firstIndex(of: 0) else { return nil }
    func latin1(_ bytes: ArraySlice<UInt8>) -> String {
      String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
    let keyword = latin1(data[..<end])
    let rest = data[(end + 1)...]
    if type == "tEXt" { return PNGFile.Text(keyword, latin1(rest)) }
    guard rest.count >= 2, rest[rest.startIndex] == 0 else { return nil }
    let fields = rest.dropFirst(2)
    guard let languageEnd = fields.firstIndex(of: 0), let titleEnd = fields[(languageEnd + 1)...].firstIndex(of: 0) else {
      return nil
    }
    return PNGFile.Text(keyword, String(decoding: fields[(titleEnd + 1)...], as: UTF8.self))
  }
}

/// The CRC of PNG, gzip and Ethernet: polynomial 0xEDB88320, bits reversed (PNG specification, annex D).
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      var value: UInt32 = 0xFFFF_FFFF
      for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
      return value ^ 0xFFFF_FFFF
    }
  }
}
