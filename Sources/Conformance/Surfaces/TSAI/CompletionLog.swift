import Foundation
import Synchronization

/// Records the calls of a completion: how often, where, and whether within the call that it belongs to.
final class CompletionLog<Value: Sendable, Failure: Sendable>: Sendable {
  /// One call.
  struct Call: Sendable {
    var value: Value?
    var failure: Failure?
    /// Whether it ran on the main queue.
    var isOnMain: Bool
    /// Whether it ran within the call that it belongs to: on the caller's thread, before the return.
    var isDuringCall: Bool
  }

  private struct State {
    var calls: [Call] = []
    var caller: ObjectIdentifier?
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let name: String
  private let evidence: EvidenceLog
  private let state = Mutex(State())

  init(_ name: String, _ evidence: EvidenceLog) {
    self.name = name
    self.evidence = evidence
  }

  /// The completion.
  var block: @Sendable (Value?, Failure?) -> Void { { self.receive($0, $1) } }

  /// Makes the call that the completion belongs to, on this thread.
  func during<Result>(_ call: () -> Result) -> Result {
    state.withLock { $0.caller = ObjectIdentifier(Thread.current) }
    defer { state.withLock { $0.caller = nil } }
    return call()
  }

  /// The calls so far.
  var calls: [Call] { state.withLock { $0.calls } }

  /// Waits for the first call.
  func first() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.calls.isEmpty { state.waiters.append(continuation) }
        return !state.calls.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  /// Lets go of everyone who waits for a call that won't come.
  func close() {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  private func receive(_ value: Value?, _ failure: Failure?) {
    evidence.note(
      "completion: \(name), \(value == nil ? "no value" : "a value"), \(failure.map { "error \($0)" } ?? "no error")")
    let thread = ObjectIdentifier(Thread.current)
    let waiters = state.withLock { state in
      state.calls.append(
        Call(value: value, failure: failure, isOnMain: MainQueue.isCurrent, isDuringCall: state.caller == thread))
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
