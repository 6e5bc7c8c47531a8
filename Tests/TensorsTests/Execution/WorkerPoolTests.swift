import Synchronization
import Tensors
import Testing

@Suite struct WorkerPoolTests {
  @Test(arguments: [1, 2, 3, 8])
  func everyIndexRunsOnce(threads: Int) {
    let pool = WorkerPool(threadCount: threads)
    for count in [0, 1, 2, 3, 7, 64, 1000] {
      var hits = [UInt8](repeating: 0, count: count)
      hits.withUnsafeMutableBufferPointer { hits in
        pool.parallelFor(count) { index, _ in hits[index] += 1 }
      }
      #expect(hits == [UInt8](repeating: 1, count: count))
    }
  }

  @Test func manyShortLoopsDoNotMixUp() {
    let pool = WorkerPool(threadCount: 3)
    var values = [Int](repeating: 0, count: 5)
    values.withUnsafeMutableBufferPointer { values in
      for round in 0..<20_000 { pool.parallelFor(5) { index, _ in values[index] += round &+ index } }
    }
    let sum = (0..<20_000).reduce(0, +)
    #expect(values == (0..<5).map { sum + 20_000 * $0 })
  }

  @Test func scratchIsPrivateToARunningBody() {
    let pool = WorkerPool(threadCount: 4)
    var clashes = [Bool](repeating: true, count: 200)
    clashes.withUnsafeMutableBufferPointer { clashes in
      pool.parallelFor(200, scratchBytes: 8 * 512) { index, scratch in
        let values = scratch.bindMemory(to: Int.self, capacity: 512)
        for position in 0..<512 { values[position] = index }
        clashes[index] = (0..<512).contains { values[$0] != index } || UInt(bitPattern: scratch) % 64 != 0
      }
    }
    #expect(!clashes.contains(true))
  }

  @Test func aLoopInsideALoopRuns() {
    let pool = WorkerPool(threadCount: 2)
    let total = Atomic<Int>(0)
    pool.parallelFor(10) { outer, _ in
      pool.parallelFor(10, scratchBytes: 100) { inner, _ in total.add(outer * 10 + inner, ordering: .relaxed) }
    }
    #expect(total.load(ordering: .relaxed) == 99 * 100 / 2)
  }

  @Test func twoCallersShareAPool() async {
    let pool = WorkerPool(threadCount: 2)
    let total = Total()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<500 { pool.parallelFor(16) { index, _ in total.value.add(index, ordering: .relaxed) } }
        }
      }
    }
    #expect(total.value.load(ordering: .relaxed) == 4 * 500 * 120)
  }

  @Test func sleepingThreadsWakeUp() async throws {
    let pool = WorkerPool(threadCount: 3)
    for _ in 0..<5 {
      try await Task.sleep(for: .milliseconds(5))
      let total = Atomic<Int>(0)
      pool.parallelFor(100) { index, _ in total.add(index, ordering: .relaxed) }
      #expect(total.load(ordering: .relaxed) == 4950)
    }
  }

  @Test(arguments: [(0, 4), (1, 4), (4, 4), (9, 4), (3, 0)])
  func rangesCoverTheCount(count: Int, grain: Int) {
    let pool = WorkerPool(threadCount: 2)
    var hits = [Int](repeating: 0, count: count)
    hits.withUnsafeMutableBufferPointer { hits in
      pool.parallelRanges(count, grain: grain) { range, _ in
        for index in range { hits[index] += 1 }
      }
    }
    #expect(hits == [Int](repeating: 1, count: count))
  }

  @Test func aPoolThatIsGoneStopsItsThreads() {
    for _ in 0..<50 {
      let pool = WorkerPool(threadCount: 3)
      pool.parallelFor(4) { _, _ in }
    }
  }

  @Test func fewerThanOneThreadTraps() async {
    await #expect(processExitsWith: .failure) { _ = WorkerPool(threadCount: 0) }
  }
}

/// A count that tasks share.
private final class Total: Sendable {
  let value = Atomic<Int>(0)
}
