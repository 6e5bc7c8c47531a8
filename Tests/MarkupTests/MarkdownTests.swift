import Testing

@testable import Markup

/// Texts in cells of GitHub's tables, by the rules of its own specification: no reader of it is part of Python.
struct MarkdownTests {
  @Test(arguments: [
    ("a|b", "a\\|b"), ("|\u{301}", "\\|\u{301}"), ("\\|", "\\\\\\|"), ("`x`", "\\`x\\`"), ("e2e_ns", "e2e_ns"),
    ("_x_", "\\_x\\_"), ("<b>", "&lt;b>"), ("<\u{338}b>", "<\u{338}b>"), ("p < 0.05", "p < 0.05"), ("&lt;", "&amp;lt;"),
    ("R & D", "R & D"), ("[a](b)", "[a\\](b)"), ("a[0]", "a[0]"), ("two\nlines\r\n", "two lines  "), ("\u{1b}[1m", "\u{fffd}[1m"),
    ("**b**", "\\*\\*b\\*\\*"), ("", ""),
  ])
  func textIsShownAsItIs(_ text: String, _ wanted: String) {
    #expect(Markdown.text(text).unicodeScalars.elementsEqual(wanted.unicodeScalars), "\(Markdown.text(text))")
  }

  @Test(arguments: [
    ("x", "`x`"), ("a|b", "`a\\|b`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("a\nb", "`a b`"),
    ("`\u{301}", "`` `\u{301} ``"),
  ])
  func codeIsFencedByMoreBackticksThanItHas(_ text: String, _ wanted: String) {
    #expect(Markdown.code(text).unicodeScalars.elementsEqual(wanted.unicodeScalars), "\(Markdown.code(text))")
  }

  /// A row is split at its bars alone, whatever its cells hold.
  @Test func aTextNeverMakesACellOrALine() {
    for text in AwkwardText.all {
      for cell in [Markdown.text(text), Markdown.code(text)] {
        let scalars = Array(cell.unicodeScalars)
        for (index, scalar) in scalars.enumerated() where scalar == "|" {
          #expect(index > 0 && scalars[index - 1] == "\\", "\(cell.debugDescription)")
        }
        #expect(!cell.unicodeScalars.contains { $0.value < 0x20 || [0x85, 0x2028, 0x2029].contains($0.value) })
      }
    }
  }
}
