import Synchronization

/// What a mutant remembers.
final class Box<Value: Sendable>: Sendable {
  private let content: Mutex<Value>

  init(_ value: Value) { content = Mutex(value) }

  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }

  /// Changes the value in place.
  func change(_ body: (inout Value) -> Void) { content.withLock { body(&$0) } }

  /// Changes the value, and gives what it was.
  func exchange(_ new: Value) -> Value {
    content.withLock { value in
      defer { value = new }
      return value
    }
  }
}
