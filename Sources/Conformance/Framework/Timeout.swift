import Dispatch
import Synchronization

/// The first of an operation and a deadline.
///
/// The deadline is a last resort against implementations that hang; nothing that works as it should ever comes near it.
package enum Timeout {
  private final class Race<Value: Sendable>: Sendable {
    private struct State {
      var result: Result<Value, any Error>?
      var waiter: CheckedContinuation<Value, any Error>?
    }
    private let state = Mutex(State())

    func finish(_ result: Result<Value, any Error>) {
      let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
        guard state.result == nil else { return nil }
        state.result = result
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(with: result)
    }

    func value() async throws -> Value {
      try await withCheckedThrowingContinuation { continuation in
        let known = state.withLock { state -> Result<Value, any Error>? in
          if state.result == nil { state.waiter = continuation }
          return state.result
        }
        if let known { continuation.resume(with: known) }
      }
    }
  }

  /// Runs `operation`; throws ``CheckFailure`` when it takes longer than `limit`.
  package static func within<Value: Sendable>(
    _ limit: Duration, _ expected: String, _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let race = Race<Value>()
    let task = Task {
      do { race.finish(.success(try await operation())) } catch { race.finish(.failure(error)) }
    }
    let (seconds, attoseconds) = limit.components
    let deadline = DispatchTime.now() + Double(seconds) + Double(attoseconds) / 1e18
    DispatchQueue.global().asyncAfter(deadline: deadline) {
      race.finish(.failure(CheckFailure(expected: expected, seen: "it hangs: nothing for \(limit)")))
    }
    defer { task.cancel() }
    return try await race.value()
  }

  /// Lets everything run that can, without waiting for anything that can't.
  package static func letOthersRun(until isDone: () -> Bool) async {
    for _ in 0..<500 {
      if isDone() { return }
      await Task.yield()
    }
  }

  /// Waits until `isDone`, at most for `limit`: for what another thread is about to do, as letting go of its last reference.
  package static func until(_ limit: Duration, _ isDone: () -> Bool) async {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while !isDone(), clock.now < end { try? await clock.sleep(for: .milliseconds(2)) }
  }
}
