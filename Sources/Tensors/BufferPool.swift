import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps freed activation buffers for the next tensor of the same size.
///
/// A network asks for the same few sizes again and again; giving a large block back to the system each time would make
/// it fault in fresh zero pages on every use. Blocks under `smallestKept` bytes go straight to the allocator.
public final class BufferPool: Sendable {
  /// The pool that new tensors of the current task use; ``withOwnPool(_:)`` changes it.
  @TaskLocal public static var current = BufferPool()

  /// Runs `body` with a pool of its own, whose statistics then tell what `body` alone needed.
  public static func withOwnPool<Result>(_ body: (BufferPool) throws -> Result) rethrows -> Result {
    let pool = BufferPool()
    defer { pool.trim() }
    return try $current.withValue(pool) { try body(pool) }
  }

  /// Byte counts of what tensors hold now and at most.
  public struct Statistics: Sendable, Equatable {
    /// Bytes in tensors that are alive.
    public var liveBytes = 0
    /// Bytes kept for reuse.
    public var idleBytes = 0
    /// The largest sum of live and idle bytes since the last `resetPeak()`.
    public var peakBytes = 0
    /// The most bytes in tensors that were alive at once since the last `trim()`.
    public var peakLiveBytes = 0
  }

  static let smallestKept = 64 << 10
  static let smallestMapped = 1 << 20
  static let alignment = 64

  private struct State: ~Copyable {
    var idle: [Int: [UInt]] = [:]  // capacity in bytes -> addresses
    var statistics = Statistics()
  }
  private let state = Mutex(State())

  init() {}

  /// Sizes are rounded so that nearly equal requests share blocks: to 64 bytes, or to 1/16 of their power of two.
  static func capacity(for byteCount: Int) -> Int {
    let step =
      byteCount < smallestKept ? alignment : max(alignment, (1 << (Int.bitWidth - 1 - byteCount.leadingZeroBitCount)) / 16)
    return max(step, (byteCount + step - 1) / step * step)
  }

  /// A block of at least `byteCount` bytes, undefined content.
  ///
  /// Taken from the idle blocks when one fits without wasting more than a fifth of it. When none does, idle blocks are given
  /// back first, so that live and idle bytes together stay within a sixteenth of the most that was ever alive at once.
  func allocate(byteCount: Int) -> (pointer: UnsafeMutableRawPointer, capacity: Int) {
    let wanted = Self.capacity(for: byteCount)
    let (reused, surplus) = state.withLock { state -> ((UInt, Int)?, [(UInt, Int)]) in
      if wanted >= Self.smallestKept,
        let fitting = state.idle.keys.lazy.filter({ $0 >= wanted && $0 <= wanted + wanted / 4 }).min(),
        let address = state.idle[fitting]?.popLast()
      {
        if state.idle[fitting]?.isEmpty == true { state.idle[fitting] = nil }
        state.statistics.idleBytes -= fitting
        state.statistics.liveBytes += fitting
        state.statistics.peakLiveBytes = max(state.statistics.peakLiveBytes, state.statistics.liveBytes)
        return ((address, fitting), [])
      }
      state.statistics.liveBytes += wanted
      state.statistics.peakLiveBytes = max(state.statistics.peakLiveBytes, state.statistics.liveBytes)
      var surplus: [(UInt, Int)] = []
      let allowed = state.statistics.peakLiveBytes + state.statistics.peakLiveBytes / 16
      while state.statistics.liveBytes + state.statistics.idleBytes > allowed, let largest = state.idle.keys.max(),
        let address = state.idle[largest]?.popLast()
      {
        if state.idle[largest]?.isEmpty == true { state.idle[largest] = nil }
        state.statistics.idleBytes -= largest
        surplus.append((address, largest))
      }
      state.statistics.peakBytes = max(state.statistics.peakBytes, state.statistics.liveBytes + state.statistics.idleBytes)
      return (nil, surplus)
    }
    for (address, capacity) in surplus { Self.release(address, capacity: capacity) }
    if let (address, capacity) = reused, let pointer = UnsafeMutableRawPointer(bitPattern: address) { return (pointer, capacity) }
    return (Self.obtain(capacity: wanted), wanted)
  }

  func deallocate(_ pointer: UnsafeMutableRawPointer, capacity: Int) {
    let address = UInt(bitPattern: pointer)
    let isKept = state.withLock { state in
      state.statistics.liveBytes -= capacity
      guard capacity >= Self.smallestKept else { return false }
      state.idle[capacity, default: []].append(address)
      state.statistics.idleBytes += capacity
      return true
    }
    if !isKept { Self.release(address, capacity: capacity) }
  }

  /// Large blocks are mapped, so that giving one back really returns its memory, and may use large pages.
  private static func obtain(capacity: Int) -> UnsafeMutableRawPointer {
    guard capacity >= smallestMapped else { return .allocate(byteCount: capacity, alignment: alignment) }
    let flags = MAP_PRIVATE | MAP_ANON
    guard let address = mmap(nil, capacity, PROT_READ | PROT_WRITE, flags, -1, 0), address != MAP_FAILED else {
      fatalError("no memory for a tensor of \(capacity) bytes; the size was planned to fit, so the system's limit has changed")
    }
    #if os(Linux)
      madvise(address, capacity, MADV_HUGEPAGE)
    #endif
    return address
  }

  private static func release(_ address: UInt, capacity: Int) {
    guard let pointer = UnsafeMutableRawPointer(bitPattern: address) else { return }
    if capacity >= smallestMapped { munmap(pointer, capacity) } else { pointer.deallocate() }
  }

  /// Gives all idle blocks back to the system; used between stages and after an unload.
  public func trim() {
    let idle = state.withLock { state in
      let idle = state.idle
      state.idle = [:]
      state.statistics.idleBytes = 0
      state.statistics.peakLiveBytes = state.statistics.liveBytes
      return idle
    }
    for (capacity, addresses) in idle { for address in addresses { Self.release(address, capacity: capacity) } }
  }

  /// What tensors hold now, and the peak so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }

  /// Starts a new peak measurement at the current level.
  public func resetPeak() {
    state.withLock { $0.statistics.peakBytes = $0.statistics.liveBytes + $0.statistics.idleBytes }
  }
}
