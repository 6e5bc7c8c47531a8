internal import CPUFeatures
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One parallel loop, as its caller describes it to the workers.
struct LoopDescription {
  var count: Int
  var scratchBytes: Int
  /// Lives on the caller's stack until the loop is complete.
  var body: UnsafePointer<WorkerPool.Body>
}

/// What a pool's caller and its workers share.
///
/// `ticket` holds a loop number in its upper half and the number of indices that nobody has taken yet in its lower half. A
/// thread takes an index by lowering the ticket by one. It reads `description` only after it has taken an index, and the
/// caller writes it only when all indices of the former loop are complete; so no thread reads it while it changes, though
/// that is more than the compiler can check.
final class SharedLoop: @unchecked Sendable {
  private static let remainingMask: UInt64 = 0xFFFF_FFFF
  /// Spins before a worker sleeps: some 50 µs, longer than the serial work between two operators.
  private static let idleSpins = 1500

  private let ticket = Atomic<UInt64>(0)
  private let completed = Atomic<Int>(0)
  private let isEntered = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  private let sleeperCount = Atomic<Int>(0)
  private var description: LoopDescription?
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  // MARK: - The caller's side

  /// Whether the calling thread now owns the pool; if so it must call ``leave()``.
  func enter() -> Bool { isEntered.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged }

  func leave() { isEntered.store(false, ordering: .releasing) }

  /// Makes a loop visible to the workers and wakes those that sleep.
  func publish(_ loop: LoopDescription) {
    precondition(loop.count <= Int(Self.remainingMask), "a loop of \(loop.count) indices is too long")
    description = loop
    completed.store(0, ordering: .relaxed)
    let number = (ticket.load(ordering: .relaxed) >> 32) &+ 1
    ticket.store(number << 32 | UInt64(loop.count), ordering: .sequentiallyConsistent)
    if sleeperCount.load(ordering: .sequentiallyConsistent) > 0 { wakeAll() }
  }

  /// Returns when every index is complete.
  func waitForCompletion() {
    guard let count = description?.count else { return }
    var spins = 0
    while completed.load(ordering: .acquiring) < count {
      genbench_spin_pause()
      spins += 1
      if spins > Self.idleSpins { sched_yield() }
    }
    description = nil
  }

  func stop() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    wakeAll()
  }

  private func wakeAll() {
    pthread_mutex_lock(mutex)
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  // MARK: - Both sides

  /// Takes and runs indices until none is left.
  func work(_ arena: ScratchArena) {
    while true {
      let seen = ticket.load(ordering: .acquiring)
      let remaining = Int(seen & Self.remainingMask)
      if remaining == 0 { return }
      guard ticket.compareExchange(expected: seen, desired: seen - 1, ordering: .acquiringAndReleasing).exchanged else {
        continue
      }
      runOne(remaining: remaining, arena)
      completed.add(1, ordering: .releasing)
    }
  }

  /// Not inlined, so that its references to the body are gone before the index counts as complete.
  @inline(never)
  private func runOne(remaining: Int, _ arena: ScratchArena) {
    guard let loop = description else { return }
    loop.body.pointee(loop.count - remaining, arena.reserve(loop.scratchBytes))
  }

  // MARK: - The workers' side

  /// What a worker thread does until the pool is gone.
  func runWorker() {
    let arena = ScratchArena()
    while !isStopped.load(ordering: .acquiring) {
      work(arena)
      var spins = 0
      while !hasWork, spins < Self.idleSpins {
        genbench_spin_pause()
        spins += 1
      }
      if !hasWork { sleep() }
    }
  }

  private var hasWork: Bool {
    ticket.load(ordering: .sequentiallyConsistent) & Self.remainingMask != 0 || isStopped.load(ordering: .sequentiallyConsistent)
  }

  private func sleep() {
    pthread_mutex_lock(mutex)
    sleeperCount.add(1, ordering: .sequentiallyConsistent)
    while !hasWork { pthread_cond_wait(condition, mutex) }
    sleeperCount.subtract(1, ordering: .sequentiallyConsistent)
    pthread_mutex_unlock(mutex)
  }
}

/// Starts a detached thread that works for `shared` until it is stopped; without it, the loops have one thread less.
func startWorkerThread(_ shared: SharedLoop) {
  let context = Unmanaged.passRetained(shared)
  #if canImport(Darwin)
    var thread: pthread_t?
    let result = pthread_create(&thread, nil, workerMain, context.toOpaque())
    if result == 0, let thread { pthread_detach(thread) }
  #else
    var thread = pthread_t()
    let result = pthread_create(&thread, nil, workerMain, context.toOpaque())
    if result == 0 { pthread_detach(thread) }
  #endif
  if result != 0 { context.release() }
}

#if canImport(Darwin)
  private func workerMain(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<SharedLoop>.fromOpaque(context).takeRetainedValue().runWorker()
    return nil
  }
#else
  private func workerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<SharedLoop>.fromOpaque(context).takeRetainedValue().runWorker()
    return nil
  }
#endif
