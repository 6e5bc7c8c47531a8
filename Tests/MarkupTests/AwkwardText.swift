import TestSupport

/// Texts that break naive escaping: every format's own signs, combining marks behind them, control characters, all of Unicode.
enum AwkwardText {
  private static let signs = Array(
    "'\"\\`|<>&$%,;#{}[]()*_~^@!? =\r\n\t\u{b}\u{c}\u{85}\u{2028}\u{2029}\u{feff}\u{fffe}\u{1b}\u{7f}".unicodeScalars)
  private static let marks: [Unicode.Scalar] = ["\u{301}", "\u{20dd}", "\u{fe0f}", "\u{200d}", "\u{1f3fd}"]

  /// A text of up to 40 scalars without NUL, which no format holds.
  private static func make(_ random: inout TestRandom) -> String {
    var view = String.UnicodeScalarView()
    for _ in 0..<Int(random.next() % 41) {
      switch random.next() % 8 {
      case 0, 1: view.append(signs[Int(random.next() % UInt64(signs.count))])
      case 2:
        view.append(signs[Int(random.next() % UInt64(signs.count))])
        view.append(marks[Int(random.next() % UInt64(marks.count))])
      case 3: view.append(Unicode.Scalar(UInt8(1 + random.next() % 159)))
      case 4: view.append(Unicode.Scalar(UInt32(random.next() % 0x11_0000)).flatMap { $0.value == 0 ? nil : $0 } ?? "😀")
      default: view.append(Unicode.Scalar(UInt8(97 + random.next() % 26)))
      }
    }
    return String(view)
  }

  /// The same texts each time.
  static let all: [String] = {
    var random = TestRandom(seed: 18)
    let known = [
      "", " ", "'\u{301}", "\"\u{301}", "|\u{301}", "<\u{338}b>", "&\u{301}amp;", "a\\", "\\|", "``", "-n", "=1+1", "$(id)",
      "]]>",
    ]
    return known + (0..<600).map { _ in make(&random) }
  }()
}
