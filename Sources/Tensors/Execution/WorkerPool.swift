/// Threads that stay alive between parallel loops, so that entering one costs about a microsecond.
///
/// A loop hands out its indices one by one, so a thread that the system takes away doesn't hold up the others. Between
/// loops the threads spin for a moment, then sleep. They are no threads of Swift's cooperative pool, and the calling thread
/// works too: a pool of `threadCount` 1 has no thread of its own.
///
/// A loop that starts while another one runs (a second generation, or a loop inside a loop body) runs on its caller
/// alone. What a body computes must therefore depend on its index only; then results are the same for every thread count.
public final class WorkerPool: Sendable {
  /// The work of one index.
  ///
  /// Bodies run on several threads at once. They capture unsafe pointers, which the compiler can't check: each index must
  /// write memory that no other index of the same loop touches.
  ///
  /// - Parameters:
  ///   - index: `0..<count`.
  ///   - scratch: The memory that the loop asked for, 64-byte aligned, owned by the running thread, with undefined contents.
  public typealias Body = (_ index: Int, _ scratch: UnsafeMutableRawPointer) -> Void

  /// How many threads work on a loop, the caller included.
  public let threadCount: Int
  private let shared: SharedLoop
  private let callerScratch = ScratchArena()

  /// Starts `threadCount - 1` threads.
  ///
  /// - Precondition: `threadCount >= 1`.
  public init(threadCount: Int) {
    precondition(threadCount >= 1, "a pool has at least one thread, not \(threadCount)")
    self.threadCount = threadCount
    shared = SharedLoop()
    for _ in 1..<threadCount { startWorkerThread(shared) }
  }

  deinit { shared.stop() }

  /// Calls `body` for each index of `0..<count`, on all threads; returns when all calls have returned.
  ///
  /// - Parameters:
  ///   - count: Fewer than 2³².
  ///   - scratchBytes: Memory that each call may use.
  public func parallelFor(_ count: Int, scratchBytes: Int = 0, _ body: Body) {
    guard count > 0 else { return }
    guard shared.enter() else {
      let arena = ScratchArena()
      withExtendedLifetime(arena) {
        let scratch = arena.reserve(scratchBytes)
        for index in 0..<count { body(index, scratch) }
      }
      return
    }
    defer { shared.leave() }
    if count == 1 || threadCount == 1 {
      let scratch = callerScratch.reserve(scratchBytes)
      for index in 0..<count { body(index, scratch) }
    } else {
      withoutActuallyEscaping(body) { body in
        withUnsafePointer(to: body) { body in
          shared.publish(LoopDescription(count: count, scratchBytes: scratchBytes, body: body))
          shared.work(callerScratch)
          shared.waitForCompletion()
        }
      }
    }
  }

  /// Cuts `0..<count` into ranges of `grain` (the last one shorter) and calls `body` for each, on all threads.
  ///
  /// The cuts don't depend on the thread count, so a sum per range is the same for every thread count.
  public func parallelRanges(
    _ count: Int, grain: Int, scratchBytes: Int = 0, _ body: (_ range: Range<Int>, _ scratch: UnsafeMutableRawPointer) -> Void
  ) {
    let step = max(grain, 1)
    parallelFor((count + step - 1) / step, scratchBytes: scratchBytes) { index, scratch in
      body((index * step)..<min(count, (index + 1) * step), scratch)
    }
  }
}
