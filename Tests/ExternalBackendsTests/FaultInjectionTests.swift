import ExternalBackends
import Foundation
import GenBackend
import Tensors
import TestSupport
import Testing

/// Faults at random places of the talk with an engine: each ends in an error, or does no harm, within its limit.
///
/// `GENBENCH_FAULTS=1000` injects so many; every fault is told by its seed, and `GENBENCH_FAULT_SEED=N` injects that one alone.
@Suite(.enabled(if: TestEngine.isThere, "python3 isn't installed"))
struct FaultInjectionTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let script = Fixtures.packageFolder.appendingPathComponent("Tests/ExternalBackendsTests/Engines/wire.py").path

  /// How a fault ended.
  private enum Outcome: String, Sendable {
    case loaded, made, failed
  }

  private struct Ended: Sendable {
    var seed: Int
    var outcome: Outcome
    var error: BackendError?
    var group: Int32?
  }

  /// Talks to an engine whose wire is damaged by a seed.
  private func talk(_ seed: Int) async -> Ended {
    let limits = BackendLimits(
      timeoutNs: 20_000_000_000, silenceNs: 10_000_000_000, cancelNs: 10_000_000_000, helloNs: 20_000_000_000,
      terminationNs: 1_000_000_000)
    let backend = ProcessBackend(.init(words: ["python3", Self.script, String(seed), TestEngine.script], limits: limits))
    var outcome = Outcome.failed
    var group: Int32?
    var error: BackendError?
    do {
      _ = try await backend.info
      if case .processGroup(let leader) = backend.workPlace { group = leader }
      let model = try await backend.load(LoadRequest(path: "/models/any"), control: GenerationControl())
      outcome = .loaded
      var request = ImageRequest(model: model.id, prompt: "x")
      request.steps = 6
      request.seed = 1
      request.previewStride = 2
      request.traceLevel = .step
      let result = try await backend.generateImages(request, control: EventLog().control())
      #expect(result.images.count == 1 && result.images[0].bitmap.width == 16, "seed \(seed)")
      outcome = .made
    } catch let failure as BackendError {
      error = failure
      outcome = .failed
    } catch {
      Issue.record("seed \(seed): another kind of error: \(error)")
    }
    await backend.close()
    return Ended(seed: seed, outcome: outcome, error: error, group: group)
  }

  @Test(.timeLimit(.minutes(60)))
  func everyFaultEnds() async throws {
    let count = Self.environment["GENBENCH_FAULTS"].flatMap { Int($0) } ?? 100
    let first = Self.environment["GENBENCH_FAULT_SEED"].flatMap { Int($0) }
    var outcomes: [Outcome: Int] = [:]
    var messages: Set<String> = []
    // Several at a time, as most of them wait for a limit.
    var seeds = Array(first.map { $0...$0 } ?? 1...count)
    let batch = 8
    while !seeds.isEmpty {
      let now = seeds.prefix(batch)
      seeds.removeFirst(now.count)
      let ended = await withTaskGroup(of: Ended.self, returning: [Ended].self) { tasks in
        for seed in now { tasks.addTask { await talk(seed) } }
        var all: [Ended] = []
        for await one in tasks { all.append(one) }
        return all
      }
      for one in ended {
        outcomes[one.outcome, default: 0] += 1
        if let error = one.error {
          #expect(!error.message.isEmpty, "seed \(one.seed)")
          messages.insert(String(error.message.prefix(40)))
        }
        // What isn't this process's own child is collected by the system, some time after it was killed.
        if let group = one.group { while isThere(-group) { try? await Task.sleep(for: .milliseconds(5)) } }
      }
    }
    // A fault that is made after all was said, or in a part that nobody reads, does no harm; most do.
    if first == nil {
      #expect(outcomes[.failed, default: 0] * 2 > count, "\(outcomes)")
      #expect(messages.count > 5, "\(messages)")
    }
    print("faults: \(count), failed \(outcomes[.failed, default: 0]), without harm \(outcomes[.made, default: 0])")
  }
}
