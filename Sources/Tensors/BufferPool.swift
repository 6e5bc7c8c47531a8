import Synchronization

/// The memory of tensors: taken from the system once and used again.
///
/// A network asks for the same sizes again and again; giving a large block back to the system each time would make it fault in
/// fresh zero pages on every use. So large blocks are cut from ``AddressSpan``s, whose memory is kept until ``trim()``. Blocks
/// under `smallestKept` bytes come straight from the allocator.
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
    /// Bytes that are kept for the next tensors: large pages, less the tensors that are alive in them.
    public var idleBytes = 0
    /// The largest sum of live and idle bytes since the last `resetPeak()`.
    public var peakBytes = 0
    /// The most bytes in tensors that were alive at once since the last `trim()`.
    public var peakLiveBytes = 0
  }

  static let smallestKept = 64 << 10
  static let alignment = 64
  /// Address space of a span; it costs nothing until it's used.
  private static let spanSize = 1 << 30

  private struct State: ~Copyable {
    var spans: [AddressSpan] = []
    /// Live bytes in spans, and those from the allocator.
    var largeBytes = 0
    var smallBytes = 0
    var peakBytes = 0
    var peakLiveBytes = 0

    var backedBytes: Int { spans.reduce(0) { $0 + $1.backedCount } * AddressSpan.pageSize }

    mutating func notePeak() {
      peakLiveBytes = max(peakLiveBytes, largeBytes + smallBytes)
      peakBytes = max(peakBytes, backedBytes + smallBytes)
    }

    /// A large block's address.
    mutating func take(_ count: Int) -> UInt {
      for index in spans.indices {
        if let address = spans[index].take(count) { return address }
      }
      guard var span = AddressSpan(byteCount: max(count, spanSize)) ?? AddressSpan(byteCount: count),
        let address = span.take(count)
      else {
        fatalError("no memory for a tensor of \(count) bytes; the size was planned to fit, so the system's limit has changed")
      }
      spans.append(span)
      return address
    }

    /// Returns unused memory, so that live and idle bytes stay within a sixteenth of the most that was ever alive, and a page a span.
    mutating func releaseSurplus() {
      let allowed = peakLiveBytes + peakLiveBytes / 16 - smallBytes
      var surplus = backedBytes / AddressSpan.pageSize - allowed / AddressSpan.pageSize - spans.count
      for index in spans.indices.reversed() where surplus > 0 {
        let before = spans[index].backedCount
        spans[index].release(keeping: max(0, before - surplus))
        surplus -= before - spans[index].backedCount
      }
    }
  }
  private let state = Mutex(State())

  init() {}

  deinit {
    // No tensor is alive: each one holds its pool.
    state.withLock { state in
      for span in state.spans { span.unmap() }
    }
  }

  /// Sizes are rounded to 64 bytes, those of large blocks to 4,096.
  static func capacity(for byteCount: Int) -> Int {
    let step = byteCount < smallestKept ? alignment : 4096
    return max(step, (byteCount + step - 1) / step * step)
  }

  /// A block of at least `byteCount` bytes, undefined content.
  func allocate(byteCount: Int) -> (pointer: UnsafeMutableRawPointer, capacity: Int) {
    let wanted = Self.capacity(for: byteCount)
    guard wanted >= Self.smallestKept else {
      state.withLock { state in
        state.smallBytes += wanted
        state.notePeak()
      }
      return (.allocate(byteCount: wanted, alignment: Self.alignment), wanted)
    }
    let address = state.withLock { state in
      let address = state.take(wanted)
      state.largeBytes += wanted
      state.peakLiveBytes = max(state.peakLiveBytes, state.largeBytes + state.smallBytes)
      state.releaseSurplus()
      state.notePeak()
      return address
    }
    guard let pointer = UnsafeMutableRawPointer(bitPattern: address) else { fatalError("address space begins at 0") }
    return (pointer, wanted)
  }

  func deallocate(_ pointer: UnsafeMutableRawPointer, capacity: Int) {
    guard capacity >= Self.smallestKept else {
      state.withLock { $0.smallBytes -= capacity }
      pointer.deallocate()
      return
    }
    let address = UInt(bitPattern: pointer)
    state.withLock { state in
      state.largeBytes -= capacity
      if let index = state.spans.firstIndex(where: { $0.contains(address) }) {
        state.spans[index].giveBack(address, count: capacity)
      }
    }
  }

  /// Gives all idle memory back to the system; used between stages and after an unload.
  public func trim() {
    state.withLock { state in
      for index in state.spans.indices { state.spans[index].release(keeping: 0) }
      for span in state.spans where span.isUnused { span.unmap() }
      state.spans.removeAll { $0.isUnused }
      state.peakLiveBytes = state.largeBytes + state.smallBytes
    }
  }

  /// What tensors hold now, and the peak so far.
  public var statistics: Statistics {
    state.withLock { state in
      Statistics(
        liveBytes: state.largeBytes + state.smallBytes, idleBytes: state.backedBytes - state.largeBytes,
        peakBytes: state.peakBytes,
        peakLiveBytes: state.peakLiveBytes)
    }
  }

  /// Starts a new peak measurement at the current level.
  public func resetPeak() {
    state.withLock { $0.peakBytes = $0.backedBytes + $0.smallBytes }
  }
}
