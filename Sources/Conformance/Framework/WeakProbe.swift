import Synchronization

/// Tells how many of some objects are still held by anybody.
package final class WeakProbe: Sendable {
  private struct Reference: Sendable {
    weak let object: (any AnyObject & Sendable)?
  }

  private let references = Mutex<[Reference]>([])

  /// Makes one.
  package init() {}

  /// Watches an object without holding it.
  package func add(_ object: any AnyObject & Sendable) { references.withLock { $0.append(Reference(object: object)) } }

  /// Objects that are still there.
  package var liveCount: Int { references.withLock { $0.count { $0.object != nil } } }
}
