public import GenBackend
import Synchronization
public import Tensors

/// Keeps the events of one request.
public final class RequestRecorder: Sendable {
  private struct State {
    var events: [GenerationEvent] = []
    var startNs: UInt64
    var endNs: UInt64?
  }

  private let state: Mutex<State>
  private let onEvent: @Sendable (GenerationEvent) -> Void

  /// Starts the clock.
  ///
  /// - Parameter onEvent: Sees each event too, after it was kept.
  public init(onEvent: @escaping @Sendable (GenerationEvent) -> Void = { _ in }) {
    self.onEvent = onEvent
    state = Mutex(State(startNs: MonotonicTime.nanoseconds()))
  }

  /// What a backend is called with, so that its events arrive here.
  public func control(_ cancellation: CancellationToken = CancellationToken()) -> GenerationControl {
    GenerationControl(cancellation: cancellation) { [self] event in record(event) }
  }

  /// Keeps an event.
  public func record(_ event: GenerationEvent) {
    // Previews hold pixels; what is timed about them is their stage.
    if case .preview = event {} else { state.withLock { $0.events.append(event) } }
    onEvent(event)
  }

  /// Times a part of the work that the backend doesn't do, such as writing the file.
  public func measure<Result>(_ stage: Stage, _ work: () throws -> Result) rethrows -> Result {
    record(.began(stage, index: nil, timeNs: MonotonicTime.nanoseconds()))
    defer { record(.ended(stage, index: nil, timeNs: MonotonicTime.nanoseconds())) }
    return try work()
  }

  /// Stops the clock; later calls change nothing.
  public func finish() {
    state.withLock { state in
      if state.endNs == nil { state.endNs = MonotonicTime.nanoseconds() }
    }
  }

  /// When the clock started.
  public var startNs: UInt64 { state.withLock { $0.startNs } }

  /// The events so far.
  public var events: [GenerationEvent] { state.withLock { $0.events } }

  /// Where the time went, up to ``finish()`` or up to now.
  public var budget: TimeBudget {
    let copy = state.withLock { $0 }
    return TimeBudget(events: copy.events, startNs: copy.startNs, endNs: copy.endNs ?? MonotonicTime.nanoseconds())
  }

  /// The stages, up to ``finish()`` or up to now.
  public var spans: [StageSpan] {
    let copy = state.withLock { $0 }
    return StageSpan.spans(of: copy.events, endNs: copy.endNs ?? MonotonicTime.nanoseconds())
  }

  /// The warnings, each once, in order.
  public var warnings: [String] {
    var seen: Set<String> = []
    return events.compactMap { event in
      guard case .warning(let text) = event, seen.insert(text).inserted else { return nil }
      return text
    }
  }
}
