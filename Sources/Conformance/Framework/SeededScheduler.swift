import Synchronization

/// Runs what several parties do in an order that a seed decides: the same seed, the same order.
///
/// Each party has a lane, in which things happen in the order of their posts; which lane goes on next is drawn. Everything
/// runs on the main actor, one after the other, so a race that it finds is found again with its seed.
public final class SeededScheduler: Sendable {
  private struct Job {
    var name: String
    var work: @MainActor @Sendable () -> Void
  }

  private struct State {
    var lanes: [(name: String, jobs: [Job])] = []
    var random: UInt64
    var order: [String] = []
  }

  /// The seed.
  public let seed: UInt64
  private let state: Mutex<State>

  /// Makes a scheduler.
  public init(seed: UInt64) {
    self.seed = seed
    state = Mutex(State(random: seed))
  }

  /// What has run, in order.
  public var order: [String] { state.withLock { $0.order } }

  /// Puts something at the end of a lane.
  public func post(_ lane: String, _ name: String = "", _ work: @escaping @MainActor @Sendable () -> Void) {
    state.withLock { state in
      let job = Job(name: name.isEmpty ? lane : "\(lane) \(name)", work: work)
      if let index = state.lanes.firstIndex(where: { $0.name == lane }) {
        state.lanes[index].jobs.append(job)
      } else {
        state.lanes.append((lane, [job]))
      }
    }
  }

  /// Runs until all lanes are empty, or `limit` things have run.
  ///
  /// - Returns: Whether all lanes are empty.
  @MainActor public func run(limit: Int = 1000) -> Bool {
    for _ in 0..<limit {
      guard let job = next() else { return true }
      job.work()
    }
    return false
  }

  private func next() -> Job? {
    state.withLock { state in
      let ready = state.lanes.indices.filter { !state.lanes[$0].jobs.isEmpty }
      guard !ready.isEmpty else { return nil }
      let lane = ready[Int(SplitMix.next(&state.random) % UInt64(ready.count))]
      let job = state.lanes[lane].jobs.removeFirst()
      state.order.append(job.name)
      return job
    }
  }
}

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
package enum SplitMix {
  /// The next 64 bits.
  package static func next(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
