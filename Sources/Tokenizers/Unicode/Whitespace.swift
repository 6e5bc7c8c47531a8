/// Whitespace as the tokenizers have it.
enum Whitespace {
  /// Each run of whitespace becomes one space.
  static func collapse(_ scalars: [UInt32]) -> [UInt32] {
    let table = ScalarTable.shared
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count)
    var inRun = false
    for scalar in scalars {
      let isSpace = table[scalar].contains(.whitespace)
      if !isSpace {
        result.append(scalar)
      } else if !inRun {
        result.append(0x20)
      }
      inRun = isSpace
    }
    return result
  }

  /// The text without whitespace at its ends; as in Python, U+001C to U+001F count as whitespace.
  static func trim(_ text: String) -> String {
    let table = ScalarTable.shared
    func isSpace(_ scalar: Unicode.Scalar) -> Bool {
      table[scalar.value].contains(.whitespace) || 0x1C...0x1F ~= scalar.value
    }
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isSpace($0) }), let last = scalars.lastIndex(where: { !isSpace($0) }) else {
      return ""
    }
    return String(scalars[first...last])
  }
}
