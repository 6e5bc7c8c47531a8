extension StringProtocol {
  /// The text without spaces at its ends.
  package func trimmingSpaces() -> String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text.drop { $0.isWhitespace })
  }
}
