import Synchronization

/// A value that several threads change.
package final class Box<Value: Sendable>: Sendable {
  private let content: Mutex<Value>

  /// Makes a box.
  package init(_ value: Value) { content = Mutex(value) }

  /// The value.
  package var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }

  /// Changes the value in place.
  package func change(_ body: (inout Value) -> Void) { content.withLock { body(&$0) } }

  /// Changes the value, and gives what it was.
  package func exchange(_ new: Value) -> Value {
    content.withLock { value in
      defer { value = new }
      return value
    }
  }
}
