/// How an answer was made.
public struct VLMMetrics: Sendable, Hashable {
  /// Why it ended.
  public enum FinishReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The model said that it was done.
    case stop
    /// `maxTokens` or the model's context was reached.
    case length
    /// Somebody cancelled it.
    case cancelled
    /// It failed.
    case error
  }

  /// Tokens of the prompt, those of the image included; nil when it ended before they were counted.
  public var promptTokens: Int?
  /// Tokens of the answer.
  public var completionTokens: Int
  /// Milliseconds from the call to the first token, the image's encoding included; nil without a token.
  public var timeToFirstTokenMs: Double?
  /// Milliseconds from the call to the end.
  public var totalTimeMs: Double
  /// Prompt tokens over the time of taking them in alone; nil when that isn't known.
  public var promptTokensPerSecond: Double?
  /// Tokens after the first over the time after the first; nil with fewer than two tokens.
  public var tokensPerSecond: Double?
  /// Why it ended.
  public var finishReason: FinishReason

  /// Makes metrics.
  public init(
    promptTokens: Int?, completionTokens: Int, timeToFirstTokenMs: Double?, totalTimeMs: Double, promptTokensPerSecond: Double?,
    tokensPerSecond: Double?, finishReason: FinishReason
  ) {
    self.promptTokens = promptTokens
    self.completionTokens = completionTokens
    self.timeToFirstTokenMs = timeToFirstTokenMs
    self.totalTimeMs = totalTimeMs
    self.promptTokensPerSecond = promptTokensPerSecond
    self.tokensPerSecond = tokensPerSecond
    self.finishReason = finishReason
  }
}
