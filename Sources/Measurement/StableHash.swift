/// A hash that is the same in every process and on every machine: 128 bits as 32 hexadecimal digits.
///
/// Two FNV-1a hashes (Fowler, Noll & Vo) with different starts. It tells things apart; it doesn't protect them.
public enum StableHash {
  /// The hash of a text's UTF-8 bytes.
  public static func hex(_ text: String) -> String {
    let (high, low) = words(text)
    return digits(high) + digits(low)
  }

  /// The hash as two words.
  public static func words(_ text: String) -> (UInt64, UInt64) {
    var high: UInt64 = 0xcbf2_9ce4_8422_2325
    var low: UInt64 = 0x9ae1_6a3b_2f90_404f
    for byte in text.utf8 {
      high = (high ^ UInt64(byte)) &* 0x100_0000_01b3
      low = (low ^ UInt64(byte ^ 0xA5)) &* 0x100_0000_01b3
    }
    return (high, low)
  }

  private static func digits(_ word: UInt64) -> String {
    let text = String(word, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
