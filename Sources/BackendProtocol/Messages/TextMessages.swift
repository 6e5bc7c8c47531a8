package import GenBackend
import Tensors

/// `generate_text`: text to make; settings that are left out are the plain ones.
package struct TextMessage: Sendable, Codable {
  /// Something that was said before the prompt.
  package struct Turn: Sendable, Codable {
    package var role: String
    package var text: String
  }

  package var model: String
  package var prompt: String
  package var turns: [Turn]?
  package var raw: Bool?
  package var image: TensorReference?
  package var maxTokens: Int?
  package var temperature: Double?
  package var topK: Int?
  package var topP: Double?
  package var minP: Double?
  package var repetitionPenalty: Double?
  package var seed: UInt64?

  private enum CodingKeys: String, CodingKey {
    case model, prompt, turns, raw, image, temperature, seed
    case maxTokens = "max_tokens"
    case topK = "top_k"
    case topP = "top_p"
    case minP = "min_p"
    case repetitionPenalty = "repetition_penalty"
  }

  /// Writes the image into the folder.
  ///
  /// Greedy choice needs no other setting, so none is sent with it but the penalty.
  package init(_ request: TextRequest, model: String, folder: ExchangeFolder) throws(BackendError) {
    let standard = TextRequest.Sampling()
    let sampling = request.sampling
    self.model = model
    prompt = request.prompt
    if !request.turns.isEmpty { turns = request.turns.map { Turn(role: $0.role.rawValue, text: $0.text) } }
    if request.isRaw { raw = true }
    image = try request.image.map { (image) throws(BackendError) in try folder.write(image, as: "image") }
    maxTokens = request.maxTokens
    temperature = sampling.temperature
    if sampling.temperature > 0 {
      if sampling.topK != standard.topK { topK = sampling.topK }
      if sampling.topP != standard.topP { topP = sampling.topP }
      if sampling.minP != standard.minP { minP = sampling.minP }
      seed = sampling.seed
    }
    if sampling.repetitionPenalty != standard.repetitionPenalty { repetitionPenalty = sampling.repetitionPenalty }
  }

  /// Reads the image; values that aren't known are refused.
  package func request(_ reader: ExchangeReader) throws(BackendError) -> TextRequest {
    var request = TextRequest(model: ModelID(model), prompt: prompt, isRaw: raw ?? false)
    for turn in turns ?? [] {
      guard let role = TextRequest.Turn.Role(rawValue: turn.role) else {
        throw BackendError(.invalidInput, "role: expected system, user or assistant, found '\(turn.role)'")
      }
      request.turns.append(TextRequest.Turn(role, turn.text))
    }
    if let image { request.image = try reader.bitmap(image) }
    if let maxTokens { request.maxTokens = maxTokens }
    if let temperature { request.sampling.temperature = temperature }
    if let topK { request.sampling.topK = topK }
    if let topP { request.sampling.topP = topP }
    if let minP { request.sampling.minP = minP }
    if let repetitionPenalty { request.sampling.repetitionPenalty = repetitionPenalty }
    if let seed { request.sampling.seed = seed }
    return request
  }
}

/// `text`: the text that was made.
package struct TextReply: Sendable, Codable {
  package var text: String
  package var ids: [Int]
  package var promptIDs: [Int]?
  package var finishReason: String
  package var timeToFirstTokenNs: UInt64?
  package var totalNs: UInt64?
  package var prefillTokensPerSecond: Double?
  package var decodeTokensPerSecond: Double?
  package var unavailable: [String: String]?

  private enum CodingKeys: String, CodingKey {
    case text, ids, unavailable
    case promptIDs = "prompt_ids"
    case finishReason = "finish_reason"
    case timeToFirstTokenNs = "time_to_first_token_ns"
    case totalNs = "total_ns"
    case prefillTokensPerSecond = "prefill_tokens_per_second"
    case decodeTokensPerSecond = "decode_tokens_per_second"
  }

  package init(_ result: TextResult) {
    text = result.text
    ids = result.ids
    promptIDs = result.promptIDs
    finishReason = result.finishReason.rawValue
    timeToFirstTokenNs = result.timeToFirstTokenNs
    totalNs = result.totalNs
    prefillTokensPerSecond = result.prefillTokensPerSecond
    decodeTokensPerSecond = result.decodeTokensPerSecond
  }

  /// Checks what was made.
  ///
  /// - Parameters:
  ///   - firstTokenNs: From the request to its first token, as the client saw it; for engines that don't tell.
  ///   - elapsedNs: From the request to its reply, as the client saw it; for engines that don't tell.
  /// - Throws: `BackendError` `.processingFailed` for ids and rates that no engine has.
  package func result(maxTokens: Int, firstTokenNs: UInt64?, elapsedNs: UInt64) throws(BackendError) -> TextResult {
    func refuse(_ what: String) -> BackendError { BackendError(.processingFailed, "the reply: \(what)") }
    guard let reason = TextResult.FinishReason(rawValue: finishReason) else {
      throw refuse("finish_reason: expected stop or length, found '\(finishReason)'")
    }
    for id in ids + (promptIDs ?? []) where id < 0 { throw refuse("ids: expected at least 0, found \(id)") }
    guard ids.count <= maxTokens else { throw refuse("ids: expected at most \(maxTokens), found \(ids.count)") }
    for rate in [prefillTokensPerSecond, decodeTokensPerSecond] {
      if let rate, rate < 0 { throw refuse("tokens a second: expected at least 0, found \(rate)") }
    }
    return TextResult(
      text: text, ids: ids, promptIDs: promptIDs ?? [], finishReason: reason,
      timeToFirstTokenNs: timeToFirstTokenNs ?? firstTokenNs ?? elapsedNs, totalNs: totalNs ?? elapsedNs,
      prefillTokensPerSecond: prefillTokensPerSecond, decodeTokensPerSecond: decodeTokensPerSecond)
  }
}
