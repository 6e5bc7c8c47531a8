import Synchronization

/// A number that only grows.
final class Tally: Sendable {
  private let value = Atomic<Int>(0)

  func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}
