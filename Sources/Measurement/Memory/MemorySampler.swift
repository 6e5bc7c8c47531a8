import Foundation
import Synchronization
import Tensors

/// Reads the memory of this process at a steady pace, on a thread of its own.
public final class MemorySampler: Sendable {
  /// One reading and when it was taken.
  public struct Sample: Sendable, Hashable {
    /// When, by `MonotonicTime`.
    public var timeNs: UInt64
    /// What.
    public var reading: MemoryReading

    /// Makes a sample.
    public init(timeNs: UInt64, reading: MemoryReading) {
      self.timeNs = timeNs
      self.reading = reading
    }
  }

  private struct State {
    var samples: [Sample] = []
    var strideNs: UInt64
    var isStopped = false
  }

  private let state: Mutex<State>
  private let finished = DispatchSemaphore(value: 0)
  private let read: @Sendable () -> MemoryReading
  private let capacity: Int

  /// Starts to read.
  ///
  /// A long run is thinned out rather than kept whole: beyond `capacity` samples every second one is dropped and the pace
  /// halves.
  ///
  /// - Parameters:
  ///   - intervalNs: The pace, at least a millisecond.
  ///   - capacity: The most samples that are kept, at least 4.
  ///   - read: Takes a reading.
  public init(
    intervalNs: UInt64 = 20_000_000, capacity: Int = 20_000,
    read: @escaping @Sendable () -> MemoryReading = { MemoryProbe().read() }
  ) {
    self.capacity = max(capacity, 4)
    self.read = read
    state = Mutex(State(strideNs: max(intervalNs, 1_000_000)))
    sampleNow()
    let thread = Thread { [self] in
      while true {
        let (isStopped, strideNs) = state.withLock { ($0.isStopped, $0.strideNs) }
        if isStopped { break }
        Thread.sleep(forTimeInterval: Double(strideNs) / 1e9)
        sampleNow()
      }
      finished.signal()
    }
    thread.name = "memory sampler"
    thread.stackSize = 512 << 10
    thread.start()
  }

  /// Takes a reading at once, beside the steady ones.
  public func sampleNow() {
    let sample = Sample(timeNs: MonotonicTime.nanoseconds(), reading: read())
    state.withLock { state in
      if state.isStopped { return }
      if state.samples.count >= capacity {
        state.samples = stride(from: 0, to: state.samples.count, by: 2).map { state.samples[$0] }
        state.strideNs *= 2
      }
      state.samples.append(sample)
    }
  }

  /// The samples so far, in the order of time.
  public var samples: [Sample] { state.withLock { $0.samples }.sorted { $0.timeNs < $1.timeNs } }

  /// Ends the thread and returns all samples; the last one is taken now.
  public func stop() -> [Sample] {
    sampleNow()
    let wasRunning = state.withLock { state -> Bool in
      defer { state.isStopped = true }
      return !state.isStopped
    }
    if wasRunning { finished.wait() }
    return samples
  }
}
