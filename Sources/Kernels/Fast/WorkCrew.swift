internal import Tensors

/// The threads that an operator runs on, and the signal at which it stops.
///
/// When the signal is given, the remaining parts of every loop are skipped: the operator returns within a few milliseconds, with
/// results that mean nothing. Whoever gave it a token looks at the token before using them.
struct WorkCrew: Sendable {
  let pool: WorkerPool
  let cancellation: CancellationToken?

  /// How many threads work on a loop, the caller included.
  var threadCount: Int { pool.threadCount }

  /// See `WorkerPool.parallelFor`.
  func parallelFor(_ count: Int, scratchBytes: Int = 0, _ body: WorkerPool.Body) {
    guard let cancellation else {
      pool.parallelFor(count, scratchBytes: scratchBytes, body)
      return
    }
    pool.parallelFor(count, scratchBytes: scratchBytes) { index, scratch in
      if !cancellation.isCancelled { body(index, scratch) }
    }
  }

  /// See `WorkerPool.parallelRanges`.
  func parallelRanges(
    _ count: Int, grain: Int, scratchBytes: Int = 0, _ body: (_ range: Range<Int>, _ scratch: UnsafeMutableRawPointer) -> Void
  ) {
    let step = max(grain, 1)
    parallelFor((count + step - 1) / step, scratchBytes: scratchBytes) { index, scratch in
      body((index * step)..<min(count, (index + 1) * step), scratch)
    }
  }
}
