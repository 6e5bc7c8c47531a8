import Foundation
import Synchronization

/// One download, watched by any number of parties; cancelled when the last of them leaves.
final class DownloadOperation: Sendable {
  private struct State {
    var events: [DownloadEvent] = []
    var watchers: [Int: AsyncStream<DownloadEvent>.Continuation] = [:]
    var nextWatcher = 0
    var isOver = false
    var isCancelled = false
    var task: Task<Void, Never>?
  }

  private let name = UUID().uuidString
  private let state = Mutex(State())

  /// Starts `work`, once `before` has ended.
  init(after before: DownloadOperation?, work: @escaping @Sendable (DownloadOperation) async throws -> ModelDescriptor) {
    let task = Task.detached { [self] in
      if let before { await before.ended() }
      emit(.started)
      do {
        try Task.checkCancellation()
        emit(.completed(try await work(self)))
      } catch let error as RegistryError where error.code != .cancelled {
        emit(.failed(error))
      } catch is RegistryError, is CancellationError {
        emit(.cancelled)
      } catch {
        emit(.failed(RegistryError(.storageFailed, "\(error)")))
      }
    }
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  /// Whether nobody may join any more.
  var isClosed: Bool { state.withLock { $0.isOver || $0.isCancelled } }

  /// Tells all who watch.
  func emit(_ kind: DownloadEvent.Kind) {
    let finished = state.withLock { state -> [AsyncStream<DownloadEvent>.Continuation] in
      if state.isOver { return [] }
      let event = DownloadEvent(operation: name, sequence: state.events.count, kind: kind)
      state.events.append(event)
      for watcher in state.watchers.values { watcher.yield(event) }
      guard event.isTerminal else { return [] }
      state.isOver = true
      defer { state.watchers = [:] }
      return Array(state.watchers.values)
    }
    // Outside the lock: ending a stream calls back.
    for watcher in finished { watcher.finish() }
  }

  /// All events from the first one on; nil when it was cancelled and can't be joined.
  func watch() -> AsyncStream<DownloadEvent>? {
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadEvent.self)
    let joined = state.withLock { state -> (number: Int, isOver: Bool)? in
      if state.isCancelled, !state.isOver { return nil }
      for event in state.events { continuation.yield(event) }
      if state.isOver { return (0, true) }
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = continuation
      return (state.nextWatcher, false)
    }
    guard let joined else { return nil }
    if joined.isOver {
      continuation.finish()
    } else {
      continuation.onTermination = { [weak self] termination in
        if case .cancelled = termination { self?.leave(joined.number) }
      }
    }
    return stream
  }

  private func leave(_ number: Int) {
    let isAlone = state.withLock { state in
      state.watchers[number] = nil
      return state.watchers.isEmpty && !state.isOver
    }
    if isAlone { cancel() }
  }

  /// Ends it for all.
  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  /// Waits for the end.
  func ended() async { await state.withLock { $0.task }?.value }
}

/// A value that closures share.
final class Collected<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}
