/// A result that isn't what a golden says, or a golden that says too little.
public struct GoldenMismatch: Error, Sendable, Hashable, CustomStringConvertible {
  /// What the golden has.
  public var expected: String
  /// What was the case.
  public var seen: String

  /// Makes a mismatch.
  public init(expected: String, seen: String) {
    self.expected = expected
    self.seen = seen
  }

  /// Both on one line.
  public var description: String { "expected \(expected); seen \(seen)" }
}
