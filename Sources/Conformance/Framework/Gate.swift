import Dispatch
import Synchronization

/// A place where a test double waits until a check lets it go on; no thread of Swift's pool is held.
public final class Gate: Sendable {
  private struct State {
    var hasArrived = false
    var isAbandoned = false
    var isOpen = false
    var arrivalWaiters: [CheckedContinuation<Bool, Never>] = []
    var passWaiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let semaphore = DispatchSemaphore(value: 0)

  /// Makes a closed gate.
  public init() {}

  /// Arrives, and waits for the opening.
  package func pass() async {
    announce()
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.isOpen { return true }
        state.passWaiters.append(continuation)
        return false
      }
      if isOpen { continuation.resume() }
    }
  }

  /// Arrives, and holds the calling thread until the opening; for threads that belong to an engine.
  package func passBlocking() {
    announce()
    semaphore.wait()
    semaphore.signal()
  }

  private func announce() {
    let waiters = state.withLock { state in
      state.hasArrived = true
      defer { state.arrivalWaiters = [] }
      return state.arrivalWaiters
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  /// Waits for the arrival.
  ///
  /// - Returns: False when nobody will come any more.
  package func arrival() async -> Bool {
    await withCheckedContinuation { continuation in
      let known: Bool? = state.withLock { state in
        if state.hasArrived { return true }
        if state.isAbandoned { return false }
        state.arrivalWaiters.append(continuation)
        return nil
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  /// Says that nobody will come any more.
  package func abandon() {
    let waiters = state.withLock { state in
      state.isAbandoned = true
      defer { state.arrivalWaiters = [] }
      return state.arrivalWaiters
    }
    for waiter in waiters { waiter.resume(returning: false) }
  }

  /// Lets everyone through, now and later.
  public func open() {
    let waiters = state.withLock { state in
      if !state.isOpen { semaphore.signal() }
      state.isOpen = true
      defer { state.passWaiters = [] }
      return state.passWaiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
