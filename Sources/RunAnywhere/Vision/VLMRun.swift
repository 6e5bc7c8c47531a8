import GenBackend
import Synchronization
import Tensors

/// One answer being made: takes the engine's tokens, hands them to whoever asks, knows how it ended.
final class VLMRun: StoppableRun {
  private struct State {
    var pieces: [String] = []
    /// The first piece that wasn't taken yet.
    var next = 0
    var streamed = ""
    var tokens = 0
    var firstNs: UInt64?
    var outcome: Result<VLMMetrics.FinishReason, SDKError>?
    var metrics: VLMMetrics?
    var consumer: CheckedContinuation<String?, any Error>?
    var metricsWaiters: [CheckedContinuation<VLMMetrics, Never>] = []
    var hasIterator = false
    var isCancelled = false
  }

  let token = CancellationToken()
  private let startNs: UInt64
  private let nowNs: @Sendable () -> UInt64
  private let state = Mutex(State())

  init(nowNs: @escaping @Sendable () -> UInt64) {
    self.nowNs = nowNs
    startNs = nowNs()
  }

  var control: GenerationControl { GenerationControl(cancellation: token) { event in self.receive(event) } }

  static let cancelledError = SDKError(.cancelled, "the generation was cancelled")

  // MARK: - From the engine

  private func receive(_ event: GenerationEvent) {
    guard case .token(_, let text, _) = event else { return }
    state.withLock { state in
      guard !state.isCancelled, state.outcome == nil else { return }
      state.tokens += 1
      state.firstNs = state.firstNs ?? nowNs()
      state.streamed += text
    }
    push(text)
  }

  private func push(_ text: String) {
    // Half a character is no text yet.
    guard !text.isEmpty else { return }
    let consumer = state.withLock { state -> CheckedContinuation<String?, any Error>? in
      guard !state.isCancelled else { return nil }
      guard let consumer = state.consumer else {
        state.pieces.append(text)
        return nil
      }
      state.consumer = nil
      return consumer
    }
    consumer?.resume(returning: text)
  }

  /// The engine is done.
  func finish(_ result: TextResult) {
    // What the engine held back until the end: a character that the limit cut in two.
    let rest = state.withLock { state in
      result.text.hasPrefix(state.streamed) ? String(result.text.dropFirst(state.streamed.count)) : ""
    }
    push(rest)
    let endNs = nowNs()
    close(.success(result.finishReason == .stop ? .stop : .length)) { state in
      Self.metrics(
        state, startNs: self.startNs, endNs: endNs, reason: result.finishReason == .stop ? .stop : .length,
        promptTokens: result.promptIDs.count, tokens: result.ids.count, promptRate: result.prefillTokensPerSecond,
        rate: result.decodeTokensPerSecond)
    }
  }

  /// The engine gave up.
  func fail(_ error: SDKError) {
    let endNs = nowNs()
    let reason: VLMMetrics.FinishReason = error.code == .cancelled ? .cancelled : .error
    close(.failure(error)) { state in
      Self.metrics(
        state, startNs: self.startNs, endNs: endNs, reason: reason, promptTokens: nil, tokens: state.tokens, promptRate: nil,
        rate: nil)
    }
  }

  private static func metrics(
    _ state: State, startNs: UInt64, endNs: UInt64, reason: VLMMetrics.FinishReason, promptTokens: Int?, tokens: Int,
    promptRate: Double?, rate: Double?
  ) -> VLMMetrics {
    VLMMetrics(
      promptTokens: promptTokens, completionTokens: tokens,
      timeToFirstTokenMs: state.firstNs.map { Double($0 - startNs) / 1e6 }, totalTimeMs: Double(endNs - startNs) / 1e6,
      promptTokensPerSecond: promptRate, tokensPerSecond: rate, finishReason: reason)
  }

  private func close(_ outcome: Result<VLMMetrics.FinishReason, SDKError>, _ metrics: (State) -> VLMMetrics) {
    let (consumer, waiters, value, wasCancelled) = state.withLock { state in
      state.outcome = state.outcome ?? outcome
      let value = metrics(state)
      state.metrics = state.metrics ?? value
      defer { (state.consumer, state.metricsWaiters) = (nil, []) }
      return (state.consumer, state.metricsWaiters, state.metrics ?? value, state.isCancelled)
    }
    switch (outcome, wasCancelled) {
    case (_, true): consumer?.resume(throwing: Self.cancelledError)
    case (.success, false): consumer?.resume(returning: nil)
    case (.failure(let error), false): consumer?.resume(throwing: error)
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  // MARK: - From outside

  /// Stops it: no further text, whatever was made already, and the stream ends with `cancelled`.
  ///
  /// Nothing happens once it's over.
  func cancel() {
    let consumer = state.withLock { state -> CheckedContinuation<String?, any Error>? in
      guard state.outcome == nil else { return nil }
      state.isCancelled = true
      defer { state.consumer = nil }
      return state.consumer
    }
    token.cancel()
    consumer?.resume(throwing: Self.cancelledError)
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Takes the one place at the stream; false when somebody has it.
  func takeIterator() -> Bool {
    state.withLock { state in
      defer { state.hasIterator = true }
      return !state.hasIterator
    }
  }

  /// The next piece of text; nil at the end.
  func next() async throws -> String? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known = state.withLock { state -> Result<String?, any Error>? in
          if state.isCancelled { return .failure(Self.cancelledError) }
          if state.next < state.pieces.count {
            state.next += 1
            return .success(state.pieces[state.next - 1])
          }
          switch state.outcome {
          case .success: return .success(nil)
          case .failure(let error): return .failure(error)
          case nil:
            state.consumer = continuation
            return nil
          }
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// The metrics, once it's over.
  func metrics() async -> VLMMetrics {
    await withCheckedContinuation { continuation in
      let known = state.withLock { state -> VLMMetrics? in
        if state.metrics == nil { state.metricsWaiters.append(continuation) }
        return state.metrics
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
