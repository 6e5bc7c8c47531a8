import Dispatch
import Testing

@testable import Tensors

/// Reuse and accounting of activation buffers.
struct BufferPoolTests {
  private let page = AddressSpan.pageSize

  @Test func largeBlocksAreReused() {
    let pool = BufferPool()
    let (first, capacity) = pool.allocate(byteCount: 200_000)
    #expect(capacity == 200_704)
    #expect(UInt(bitPattern: first) % 4096 == 0)
    pool.deallocate(first, capacity: capacity)
    #expect(pool.statistics == .init(idleBytes: page, peakBytes: page, peakLiveBytes: capacity))
    let (second, again) = pool.allocate(byteCount: 199_999)
    #expect(second == first && again == 200_704)
    #expect(pool.statistics == .init(liveBytes: again, idleBytes: page - again, peakBytes: page, peakLiveBytes: capacity))
    pool.deallocate(second, capacity: again)
    pool.trim()
    #expect(pool.statistics == .init(peakBytes: page))
    pool.resetPeak()
    #expect(pool.statistics.peakBytes == 0)
  }

  @Test func smallBlocksAreNotKept() {
    let pool = BufferPool()
    let (pointer, capacity) = pool.allocate(byteCount: 100)
    #expect(pool.statistics == .init(liveBytes: 128, peakBytes: 128, peakLiveBytes: 128))
    pool.deallocate(pointer, capacity: capacity)
    #expect(pool.statistics.idleBytes == 0 && pool.statistics.liveBytes == 0)
  }

  @Test(arguments: [0, 1, 63, 64, 65, 65_535, 65_536, 65_537, 1_000_000, 1 << 24, (1 << 24) + 1])
  func capacitiesFit(_ byteCount: Int) {
    let capacity = BufferPool.capacity(for: byteCount)
    #expect(capacity >= max(byteCount, 1))
    #expect(capacity % 64 == 0)
    // At most a sixteenth is wasted on large blocks.
    if byteCount >= BufferPool.smallestKept { #expect(capacity - byteCount <= byteCount / 16) }
  }

  @Test func peakCountsWhatIsHeldAtOnce() {
    let pool = BufferPool()
    let blocks = (0..<3).map { _ in pool.allocate(byteCount: page) }
    for block in blocks { pool.deallocate(block.pointer, capacity: block.capacity) }
    #expect(pool.statistics.peakBytes == 3 * page)
    _ = pool.allocate(byteCount: page)
    #expect(pool.statistics.peakBytes == 3 * page)
  }

  /// A request of another size is cut from the same memory.
  @Test func sizesShareMemory() {
    let pool = BufferPool()
    let large = pool.allocate(byteCount: 4 * page)
    pool.deallocate(large.pointer, capacity: large.capacity)
    let parts = (0..<3).map { _ in pool.allocate(byteCount: page) }
    #expect(parts.map(\.pointer) == (0..<3).map { large.pointer + $0 * page })
    #expect(pool.statistics == .init(liveBytes: 3 * page, idleBytes: page, peakBytes: 4 * page, peakLiveBytes: 4 * page))
    for part in parts { pool.deallocate(part.pointer, capacity: part.capacity) }
    #expect(pool.allocate(byteCount: 4 * page).pointer == large.pointer)
  }

  /// What lies idle goes back to the system before new memory would raise the peak by more than a sixteenth.
  @Test func idleMemoryIsBounded() {
    let pool = BufferPool()
    let low = pool.allocate(byteCount: 16 * page)
    let wall = pool.allocate(byteCount: 16 * page)
    pool.deallocate(low.pointer, capacity: low.capacity)
    // Doesn't fit the gap of 16 pages below the wall; those that stay are the sixteenth, and the page that is granted.
    let above = pool.allocate(byteCount: 17 * page)
    #expect(pool.statistics.peakLiveBytes == 33 * page)
    #expect(pool.statistics.idleBytes == 3 * page)
    #expect(pool.statistics.peakBytes == 36 * page)
    for block in [wall, above] { pool.deallocate(block.pointer, capacity: block.capacity) }
  }

  @Test func manyThreads() {
    let pool = BufferPool()
    DispatchQueue.concurrentPerform(iterations: 200) { index in
      let (pointer, capacity) = pool.allocate(byteCount: 70_000 + index % 5 * 100_000)
      let bytes = pointer.bindMemory(to: UInt8.self, capacity: capacity)
      bytes[0] = UInt8(truncatingIfNeeded: index)
      bytes[capacity - 1] = bytes[0]
      pool.deallocate(pointer, capacity: capacity)
    }
    #expect(pool.statistics.liveBytes == 0)
    pool.trim()
    #expect(pool.statistics.idleBytes == 0)
  }
}
