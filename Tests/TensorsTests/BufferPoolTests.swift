import Dispatch
import Testing

@testable import Tensors

/// Reuse and accounting of activation buffers.
struct BufferPoolTests {
  @Test func largeBlocksAreReused() {
    let pool = BufferPool()
    let (first, capacity) = pool.allocate(byteCount: 200_000)
    #expect(capacity >= 200_000)
    #expect(UInt(bitPattern: first) % 64 == 0)
    pool.deallocate(first, capacity: capacity)
    #expect(pool.statistics == .init(idleBytes: capacity, peakBytes: capacity, peakLiveBytes: capacity))
    let (second, again) = pool.allocate(byteCount: 199_999)
    #expect(second == first && again == capacity)
    #expect(pool.statistics == .init(liveBytes: capacity, peakBytes: capacity, peakLiveBytes: capacity))
    pool.deallocate(second, capacity: again)
    pool.trim()
    #expect(pool.statistics == .init(peakBytes: capacity))
    pool.resetPeak()
    #expect(pool.statistics.peakBytes == 0)
  }

  @Test func smallBlocksAreNotKept() {
    let pool = BufferPool()
    let (pointer, capacity) = pool.allocate(byteCount: 100)
    pool.deallocate(pointer, capacity: capacity)
    #expect(pool.statistics.idleBytes == 0 && pool.statistics.liveBytes == 0)
  }

  @Test(arguments: [0, 1, 63, 64, 65, 65_535, 65_536, 65_537, 1_000_000, 1 << 24, (1 << 24) + 1])
  func capacitiesFit(_ byteCount: Int) {
    let capacity = BufferPool.capacity(for: byteCount)
    #expect(capacity >= max(byteCount, 1))
    #expect(capacity % 64 == 0)
    // At most a sixteenth is wasted on large blocks.
    if byteCount >= BufferPool.smallestKept { #expect(capacity - byteCount <= byteCount / 16 + 64) }
  }

  @Test func peakCountsWhatIsHeldAtOnce() {
    let pool = BufferPool()
    let blocks = (0..<3).map { _ in pool.allocate(byteCount: 1 << 20) }
    for block in blocks { pool.deallocate(block.pointer, capacity: block.capacity) }
    #expect(pool.statistics.peakBytes == 3 << 20)
    pool.trim()
  }

  /// A block that would waste more than a fifth of itself stays where it is, and idle ones go before the peak grows by more than
  /// a sixteenth.
  @Test func theSlackIsBounded() {
    let pool = BufferPool()
    let large = pool.allocate(byteCount: 8 << 20)
    pool.deallocate(large.pointer, capacity: large.capacity)
    let small = pool.allocate(byteCount: 4 << 20)
    #expect(small.capacity == 4 << 20 && pool.statistics.idleBytes == 0)
    #expect(pool.statistics.peakBytes == 8 << 20 && pool.statistics.peakLiveBytes == 8 << 20)
    pool.deallocate(small.pointer, capacity: small.capacity)
    let nearly = pool.allocate(byteCount: 4_000_000)
    #expect(nearly.pointer == small.pointer && nearly.capacity == 4 << 20)
    pool.deallocate(nearly.pointer, capacity: nearly.capacity)
    pool.trim()
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
