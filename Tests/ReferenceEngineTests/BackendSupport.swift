import Foundation
import GenBackend
import Kernels
import ReferenceEngine
import Synchronization
import Tensors
import TestSupport

/// The random model of a variant that the goldens are made with.
func smallModel(_ variant: String) -> String {
  Fixtures.folder.appendingPathComponent("TestModels").appendingPathComponent(variant).path
}

func makeBackend(_ choice: KernelChoice = .fast, threads: Int = 2, memoryLimit: Int? = nil) throws -> ReferenceBackend {
  try ReferenceBackend(
    options: ReferenceBackend.Options(
      kernels: choice, threads: threads,
      clipVocabulary: Fixtures.folder.appendingPathComponent("Models/clip-vocabulary"), memoryLimit: memoryLimit))
}

/// Keeps the events of a request.
final class EventLog: Sendable {
  let events = Mutex<[GenerationEvent]>([])
  private let token = CancellationToken()
  private let cancelStep: Int?

  init(cancelAtStep step: Int? = nil) { cancelStep = step }

  var control: GenerationControl {
    GenerationControl(cancellation: token) { event in
      self.events.withLock { $0.append(event) }
      if case .progress(let step, _, _) = event, step == self.cancelStep { self.token.cancel() }
    }
  }

  /// Steps and totals of the progress events.
  var progress: [[Int]] {
    events.withLock { events in
      events.compactMap { event in
        if case .progress(let step, let total, _) = event { return [step, total] }
        return nil
      }
    }
  }

  var warnings: [String] {
    events.withLock { events in
      events.compactMap { event in
        if case .warning(let text) = event { return text }
        return nil
      }
    }
  }
}
