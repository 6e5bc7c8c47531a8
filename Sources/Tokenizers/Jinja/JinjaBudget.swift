/// What a template may do: steps and bytes together, so that a hostile one ends.
final class JinjaBudget {
  private var left: Int
  private var depth = 0

  /// Steps, of which one also pays for 16 bytes of text: some 128 MB of text or seconds of work.
  static let standard = 1 << 23
  /// Statements, expressions and macros within each other.
  private static let deepest = 150

  init(_ steps: Int = standard) { left = steps }

  /// Pays for work on so many bytes or elements.
  func spend(_ size: Int = 0) throws {
    left -= 1 + max(0, size) / 16
    if left < 0 { throw JinjaError(kind: .tooMuch, message: "more work than any real template does") }
  }

  /// Pays for looking for a text within another.
  func spendSearch(_ text: Int, _ needle: Int) throws {
    let (product, overflow) = text.multipliedReportingOverflow(by: max(1, min(needle, text)) / 16 + 1)
    try spend(overflow ? .max : product)
  }

  /// Goes one level deeper, until ``exit()``.
  func enter() throws {
    depth += 1
    if depth > Self.deepest { throw JinjaError(kind: .tooMuch, message: "macros and tags more than \(Self.deepest) deep") }
  }

  func exit() { depth -= 1 }
}
