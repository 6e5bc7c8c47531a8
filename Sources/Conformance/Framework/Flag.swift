import Synchronization

/// Something that becomes true once.
package final class Flag: Sendable {
  private let value = Atomic<Bool>(false)

  /// Makes one.
  package init() {}

  /// Whether it has become true.
  package var isSet: Bool { value.load(ordering: .acquiring) }
  /// Makes it true.
  package func set() { value.store(true, ordering: .releasing) }
}
