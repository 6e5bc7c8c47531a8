import BackendProtocol
import GenBackend

/// Sees the events of one request in order, and turns them into those of a backend.
struct EventWatch: Sendable {
  /// What an engine did that the protocol forbids.
  struct Violation: Error {
    var message: String
  }

  private let clock: ChildClock
  private let folder: ExchangeFolder
  private var startNs: UInt64 = 0
  private var open: [(stage: String, index: Int?)] = []
  private var step = 0
  private var total: Int?
  private var lastNs: UInt64 = 0
  /// When the first token came, by our clock.
  private(set) var firstTokenNs: UInt64?

  init(clock: ChildClock, folder: ExchangeFolder) {
    self.clock = clock
    self.folder = folder
  }

  mutating func start(_ timeNs: UInt64) { startNs = timeNs }

  private mutating func time(_ childNs: UInt64, _ nowNs: UInt64) throws(Violation) -> UInt64 {
    guard childNs >= lastNs else { throw Violation(message: "an event's time \(childNs) is before the one before it, \(lastNs)") }
    guard let time = clock.ours(childNs, startNs: startNs, nowNs: nowNs) else {
      throw Violation(message: "an event's time \(childNs) lies outside its request by the engine's own clock")
    }
    lastNs = childNs
    return time
  }

  /// The event of a backend for one of the engine's.
  ///
  /// - Parameter nowNs: When it arrived.
  mutating func see(_ event: EventMessage, nowNs: UInt64) throws(Violation) -> GenerationEvent? {
    switch event {
    case .stage(let event):
      if let index = event.index, index < 0 { throw Violation(message: "stage \(event.stage) has the index \(index)") }
      let time = try time(event.timeNs, nowNs)
      let stage = Stage(rawValue: event.stage)
      switch event.phase {
      case .begin:
        guard open.count < 64 else { throw Violation(message: "more than 64 stages are open") }
        open.append((event.stage, event.index))
        return .began(stage, index: event.index, timeNs: time)
      case .end:
        guard let last = open.popLast(), last.stage == event.stage, last.index == event.index else {
          throw Violation(message: "stage \(event.stage) ended, which wasn't the last one that began")
        }
        return .ended(stage, index: event.index, timeNs: time)
      }
    case .progress(let event):
      // Images that are made one after another each count their steps.
      let isNext = event.step == step + 1 || (event.step == 1 && step == total)
      guard event.total >= 1, event.step <= event.total, total.map({ $0 == event.total }) ?? true, isNext else {
        throw Violation(
          message: "progress \(event.step) of \(event.total) came after \(step) of \(total.map(String.init) ?? "none")")
      }
      step = event.step
      total = event.total
      return .progress(step: event.step, total: event.total, timeNs: try time(event.timeNs, nowNs))
    case .preview(let event):
      guard let safety = SafetyOutcome(rawValue: event.safety) else {
        throw Violation(message: "a preview's safety is '\(event.safety)', expected passed, filtered or unchecked")
      }
      guard event.step >= 1 else { throw Violation(message: "a preview is of step \(event.step), which count from 1") }
      do {
        let bitmap = try ExchangeReader(folder, code: .processingFailed).bitmap(event.image)
        return .preview(step: event.step, image: bitmap, safety: safety)
      } catch {
        throw Violation(message: "a preview can't be read: \(error.message)")
      }
    case .token(let event):
      guard event.token >= 0 else { throw Violation(message: "a token has the id \(event.token)") }
      let time = try time(event.timeNs, nowNs)
      if firstTokenNs == nil { firstTokenNs = time }
      return .token(id: event.token, text: event.text, timeNs: time)
    case .memory: return nil
    case .warning(let event): return .warning(event.message)
    }
  }

  /// Checks that all is closed, when the reply isn't an error.
  func finish() throws(Violation) {
    if let last = open.last { throw Violation(message: "stage \(last.stage) was still open at the reply") }
    if let total, step != total { throw Violation(message: "the reply came after progress \(step) of \(total)") }
  }
}
