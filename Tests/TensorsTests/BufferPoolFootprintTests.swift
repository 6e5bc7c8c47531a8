import TestSupport
import Testing

@testable import Tensors

/// The pool behind tensors: reuse, and a footprint that follows the peak of what's alive.
struct BufferPoolFootprintTests {
  private let large: Shape = [1 << 20]  // 4 MiB

  @Test func freedBlocksAreUsedAgain() {
    BufferPool.withOwnPool { pool in
      for _ in 0..<10 { _ = Tensor(zeros: large) }
      #expect(pool.statistics.liveBytes == 0)
      #expect(pool.statistics.idleBytes == 4 << 20)
      #expect(pool.statistics.peakBytes == 4 << 20)
    }
  }

  /// A sixteenth above the peak, and what can't go back because a tensor lies in the same page: at both ends of every gap.
  @Test func idleMemoryStaysNearThePeakOfWhatIsAlive() {
    BufferPool.withOwnPool { pool in
      var random = TestRandom(seed: 5)
      var alive: [Tensor] = []
      var peakLive = 0
      let most = 7
      let slack = (1 + 2 * (most + 1)) * AddressSpan.pageSize
      for _ in 0..<400 {
        if alive.count == most || (random.next() % 3 == 0 && !alive.isEmpty) {
          alive.remove(at: Int(random.next() % UInt64(alive.count)))
        } else {
          alive.append(Tensor(shape: [Int(random.next() % 15_000_000) + 20_000]) { _ in })
        }
        let statistics = pool.statistics
        peakLive = max(peakLive, statistics.liveBytes)
        #expect(statistics.liveBytes + statistics.idleBytes <= peakLive + peakLive / 16 + slack)
      }
      #expect(peakLive > 4 * slack)
      #expect(pool.statistics.peakBytes <= peakLive + peakLive / 16 + slack)
    }
  }

  @Test func trimmingGivesEverythingBack() {
    BufferPool.withOwnPool { pool in
      let kept = Tensor(zeros: large)
      _ = Tensor(zeros: large)
      pool.trim()
      #expect(pool.statistics.idleBytes == 0)
      #expect(pool.statistics.liveBytes == 4 << 20)
      #expect(kept[flat: 7] == 0)
    }
  }

  @Test func copiesShareUntilOneIsWritten() {
    BufferPool.withOwnPool { pool in
      let first = Tensor(repeating: 1, shape: large)
      var second = first
      #expect(pool.statistics.liveBytes == 4 << 20)
      second[flat: 0] = 2
      #expect(pool.statistics.liveBytes == 8 << 20)
      #expect(first[flat: 0] == 1)
      #expect(second[flat: 0] == 2)
      #expect(second[flat: 1] == 1)
    }
  }
}
