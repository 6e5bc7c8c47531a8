/// Turns ids into text as they come, holding back bytes until their character is complete.
///
/// The pieces, joined, are what ``ByteLevelBPETokenizer/decode(_:skipsSpecialTokens:)`` gives for all ids at once, but for a
/// character that was never completed: nothing is shown of it.
public struct StreamingDecoder: Sendable {
  private let tokenizer: ByteLevelBPETokenizer
  private let skipsSpecialTokens: Bool
  private var pending: [UInt8] = []

  /// Makes a decoder.
  public init(_ tokenizer: ByteLevelBPETokenizer, skipsSpecialTokens: Bool = true) {
    self.tokenizer = tokenizer
    self.skipsSpecialTokens = skipsSpecialTokens
  }

  /// The text that an id completes; empty while a character is incomplete.
  public mutating func append(_ id: Int) -> String {
    if skipsSpecialTokens && tokenizer.isSpecial(id) { return "" }
    pending += tokenizer.bytes(of: id)
    let complete = pending.count - Self.incompleteSuffixLength(of: pending)
    defer { pending.removeFirst(complete) }
    return String(decoding: pending[..<complete], as: UTF8.self)
  }

  /// The length of a character's beginning at the end of the bytes: one that more bytes can complete.
  static func incompleteSuffixLength(of bytes: [UInt8]) -> Int {
    for length in 1...3 where length <= bytes.count {
      let lead = bytes[bytes.count - length]
      if 0x80...0xBF ~= lead { continue }
      let needed: Int
      switch lead {
      case 0xC2...0xDF: needed = 2
      case 0xE0...0xEF: needed = 3
      case 0xF0...0xF4: needed = 4
      default: return 0
      }
      guard length < needed else { return 0 }
      if length >= 2 {
        // The second byte's range (The Unicode Standard, table 3-7); outside of it the character is wrong already.
        let second = bytes[bytes.count - length + 1]
        let allowed: ClosedRange<UInt8> =
          switch lead {
          case 0xE0: 0xA0...0xBF
          case 0xED: 0x80...0x9F
          case 0xF0: 0x90...0xBF
          case 0xF4: 0x80...0x8F
          default: 0x80...0xBF
          }
        guard allowed.contains(second) else { return 0 }
      }
      return length
    }
    return 0
  }
}
