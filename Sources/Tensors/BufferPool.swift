import Synchronization

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
  }

  static let smallestKept = 64 << 10
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

  func allocate(byteCount: Int) -> (pointer: UnsafeMutableRawPointer, capacity: Int) {
    let capacity = Self.capacity(for: byteCount)
    let reused: UInt? = state.withLock { state in
      state.statistics.liveBytes += capacity
      guard let address = state.idle[capacity]?.popLast() else {
        state.statistics.peakBytes = max(state.statistics.peakBytes, state.statistics.liveBytes + state.statistics.idleBytes)
        return nil
      }
      state.statistics.idleBytes -= capacity
      return address
    }
    if let reused, let pointer = UnsafeMutableRawPointer(bitPattern: reused) { return (pointer, capacity) }
    return (UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: Self.alignment), capacity)
  }

  func deallocate(_ pointer: UnsafeMutableRawPointer, capacity: Int) {
    let address = UInt(bitPattern: pointer)
    let kept = state.withLock { state in
      state.statistics.liveBytes -= capacity
      guard capacity >= Self.smallestKept else { return false }
      state.idle[capacity, default: []].append(address)
      state.statistics.idleBytes += capacity
      return true
    }
    if !kept { pointer.deallocate() }
  }

  /// Gives all idle blocks back to the system; used between stages and after an unload.
  public func trim() {
    let idle = state.withLock { state in
      let idle = state.idle
      state.idle = [:]
      state.statistics.idleBytes = 0
      return idle
    }
    for address in idle.values.joined() { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }
  }

  /// What tensors hold now, and the peak so far.
  public var statistics: Statistics { state.withLock { $0.statistics } }

  /// Starts a new peak measurement at the current level.
  public func resetPeak() {
    state.withLock { $0.statistics.peakBytes = $0.statistics.liveBytes + $0.statistics.idleBytes }
  }
}
