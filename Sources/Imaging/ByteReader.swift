/// Big- or little-endian numbers out of bytes, nil beyond the end.
struct ByteReader {
  let bytes: ArraySlice<UInt8>
  let isBigEndian: Bool

  init(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool = true) {
    self.bytes = bytes
    self.isBigEndian = isBigEndian
  }

  func u8(at offset: Int) -> Int? {
    guard offset >= 0, offset < bytes.count else { return nil }
    return Int(bytes[bytes.startIndex + offset])
  }

  func u16(at offset: Int) -> Int? {
    guard let first = u8(at: offset), let second = u8(at: offset + 1) else { return nil }
    return isBigEndian ? first << 8 | second : second << 8 | first
  }

  func u32(at offset: Int) -> Int? {
    guard let first = u16(at: offset), let second = u16(at: offset + 2) else { return nil }
    return isBigEndian ? first << 16 | second : second << 16 | first
  }
}
