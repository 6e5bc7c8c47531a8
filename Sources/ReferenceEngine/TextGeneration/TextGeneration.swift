import GenBackend
import KernelContract
import Tensors
import Tokenizers
import VisionLanguageModels

/// Makes tokens one by one after a prompt.
struct TextGeneration {
  let model: LanguageModel
  let context: ExecutionContext
  let clock: StageClock
  let startNs: UInt64

  /// Takes the prompt in and generates until the model ends, `maxTokens` or the end of the context.
  func run(_ prompt: PreparedPrompt, maxTokens: Int, sampling: TokenSampler.Settings) throws -> TextResult {
    let contextLength = model.decoder.config.contextLength
    // The last token is chosen, not taken in.
    let limit = min(maxTokens, contextLength - prompt.ids.count)
    var cache = KVCache(model.decoder.config, capacity: prompt.ids.count + limit)
    var sampler = TokenSampler(sampling)
    var streaming = StreamingDecoder(model.tokenizer)
    var ids: [Int] = []
    var history = prompt.ids
    var text = ""
    var reason = TextResult.FinishReason.length

    let prefillStart = MonotonicTime.nanoseconds()
    var logits = try clock.measure(.prefill) {
      try model.decoder.prefill(prompt.embeddings, positions: prompt.positions, cache: &cache, context)
    }
    let prefillNs = MonotonicTime.nanoseconds() - prefillStart
    var firstTokenNs: UInt64?
    var lastTokenNs: UInt64 = 0

    while true {
      try context.cancellation.check()
      guard !logits.hasNonFinite else {
        throw BackendError(
          .processingFailed, "the logits after \(ids.count) tokens aren't finite; the model's weights are damaged")
      }
      let id = sampler.next(logits, history: history)
      lastTokenNs = MonotonicTime.nanoseconds()
      firstTokenNs = firstTokenNs ?? lastTokenNs
      if model.endIDs.contains(id) {
        reason = .stop
        break
      }
      ids.append(id)
      history.append(id)
      let piece = streaming.append(id)
      text += piece
      clock.control.onEvent(.token(id: id, text: piece, timeNs: lastTokenNs))
      if ids.count == limit { break }
      try context.cancellation.check()
      let position = TokenPosition(prompt.nextPosition + ids.count - 1)
      logits = try clock.measure(.decode, index: ids.count - 1) {
        try model.decoder.prefill(model.decoder.embeddings(of: [id]), positions: [position], cache: &cache, context)
      }
    }
    if reason == .length, limit < maxTokens {
      clock.control.onEvent(.warning("the answer ends because the context of \(contextLength) tokens is full"))
    }
    let first = firstTokenNs ?? lastTokenNs
    return TextResult(
      text: text, ids: ids, promptIDs: prompt.ids, finishReason: reason, timeToFirstTokenNs: first - startNs,
      totalNs: MonotonicTime.nanoseconds() - startNs, prefillTokensPerSecond: rate(prompt.ids.count, prefillNs),
      decodeTokensPerSecond: ids.count < 2 ? nil : rate(reason == .stop ? ids.count : ids.count - 1, lastTokenNs - first))
  }

  private func rate(_ count: Int, _ ns: UInt64) -> Double? { ns == 0 ? nil : Double(count) / (Double(ns) / 1e9) }
}
