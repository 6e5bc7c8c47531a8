/// The printable stand-ins of bytes in GPT-2's and CLIP's vocabularies.
///
/// Printable bytes of Latin-1 stand for themselves; the other 68 are U+0100 and up, in the order of the bytes.
enum ByteAlphabet {
  /// The scalar of each byte.
  static let scalarOfByte: [UInt32] = {
    var next: UInt32 = 0x100
    return (0..<256).map { (byte: UInt32) -> UInt32 in
      if 0x21...0x7E ~= byte || 0xA1...0xAC ~= byte || byte >= 0xAE { return byte }
      defer { next += 1 }
      return next
    }
  }()

  private static let byteOfScalar: [UInt32: UInt8] = {
    Dictionary(uniqueKeysWithValues: scalarOfByte.enumerated().map { ($0.element, UInt8($0.offset)) })
  }()

  /// A byte's stand-in as a vocabulary has it.
  static func token(of byte: UInt8) -> String {
    Unicode.Scalar(scalarOfByte[Int(byte)]).map { String($0) } ?? ""
  }

  /// The bytes that a vocabulary entry stands for; as the byte-level decoder does it, an entry with a scalar outside of
  /// the alphabet stands for its own UTF-8 bytes.
  static func bytes(of token: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in token.unicodeScalars {
      guard let byte = byteOfScalar[scalar.value] else { return Array(token.utf8) }
      bytes.append(byte)
    }
    return bytes
  }
}
