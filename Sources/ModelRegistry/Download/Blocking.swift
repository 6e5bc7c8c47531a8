import Dispatch
import Foundation
import Synchronization

/// Runs work that waits for a disk on a thread that may wait.
enum Blocking {
  /// Becomes set when the task that waits for the work is cancelled.
  final class Stop: Sendable {
    private let flag = Atomic<Bool>(false)
    func set() { flag.store(true, ordering: .releasing) }
    /// - Throws: `CancellationError` once the task is cancelled.
    func check() throws { if flag.load(ordering: .acquiring) { throw CancellationError() } }
  }

  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await run { _ in try body() }
  }

  static func run<Value: Sendable>(_ body: @escaping @Sendable (Stop) throws -> Value) async throws -> Value {
    let stop = Stop()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .utility).async { continuation.resume(with: Result { try body(stop) }) }
      }
    } onCancel: {
      stop.set()
    }
  }
}
