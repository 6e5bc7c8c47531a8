public import Tensors

/// Text to make.
public struct TextRequest: Sendable {
  /// How the next token is chosen.
  ///
  /// Temperature 0 is greedy: the others don't matter then.
  public struct Sampling: Sendable, Hashable, Codable {
    /// Divides the logits; 0...2.
    public var temperature: Double
    /// Keeps the k likeliest; 0 keeps all.
    public var topK: Int
    /// Keeps the likeliest until their probabilities sum to this; 0...1.
    public var topP: Double
    /// Drops tokens less likely than this share of the likeliest; 0...1.
    public var minP: Double
    /// Divides positive and multiplies negative logits of recent tokens; 1 is off.
    public var repetitionPenalty: Double
    /// Seed of the draws.
    public var seed: UInt64

    /// Makes settings; greedy unless told otherwise.
    public init(
      temperature: Double = 0, topK: Int = 0, topP: Double = 1, minP: Double = 0, repetitionPenalty: Double = 1, seed: UInt64 = 0
    ) {
      self.temperature = temperature
      self.topK = topK
      self.topP = topP
      self.minP = minP
      self.repetitionPenalty = repetitionPenalty
      self.seed = seed
    }
  }

  /// Something that was said before the prompt.
  public struct Turn: Sendable, Hashable, Codable {
    /// Who said it.
    public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
      /// The app: how to answer. Only as the first turn.
      case system
      case user
      case assistant
    }

    /// Who said it.
    public var role: Role
    /// What was said.
    public var text: String

    /// Makes a turn.
    public init(_ role: Role, _ text: String) {
      self.role = role
      self.text = text
    }
  }

  /// The loaded model.
  public var model: ModelID
  /// What was said before the prompt; must be empty for a raw prompt.
  public var turns: [Turn] = []
  /// The user's words.
  public var prompt: String
  /// Whether the prompt is taken as it is, without the model's chat template.
  public var isRaw: Bool
  /// The image that the prompt speaks of.
  public var image: Bitmap?
  /// The most tokens to make, at least 1.
  public var maxTokens: Int
  /// How tokens are chosen.
  public var sampling: Sampling

  /// Makes a request.
  public init(
    model: ModelID, prompt: String, isRaw: Bool = false, image: Bitmap? = nil, maxTokens: Int = 128,
    sampling: Sampling = Sampling()
  ) {
    self.model = model
    self.prompt = prompt
    self.isRaw = isRaw
    self.image = image
    self.maxTokens = maxTokens
    self.sampling = sampling
  }
}

/// The text of one request.
public struct TextResult: Sendable, Hashable, Codable {
  /// Why generation ended.
  public enum FinishReason: String, Sendable, Hashable, Codable {
    /// The model said that it was done.
    case stop
    /// `maxTokens` or the context was reached.
    case length
  }

  /// The generated text, without special tokens.
  public var text: String
  /// The generated ids, without the end mark.
  public var ids: [Int]
  /// The ids of the whole prompt, image tokens included.
  public var promptIDs: [Int]
  /// Why it ended.
  public var finishReason: FinishReason
  /// From the request to the first token, in ns.
  public var timeToFirstTokenNs: UInt64
  /// From the request to the end, in ns.
  public var totalNs: UInt64
  /// Prompt tokens over the time of the prefill alone; nil when the window is empty.
  public var prefillTokensPerSecond: Double?
  /// Tokens after the first over the time after the first; nil with fewer than two tokens.
  public var decodeTokensPerSecond: Double?
  /// What the engine's interface can't tell, by name, with the reason; never estimated.
  public var unavailable: [String: String] = [:]

  /// Makes a result.
  public init(
    text: String, ids: [Int], promptIDs: [Int], finishReason: FinishReason, timeToFirstTokenNs: UInt64, totalNs: UInt64,
    prefillTokensPerSecond: Double?, decodeTokensPerSecond: Double?
  ) {
    self.text = text
    self.ids = ids
    self.promptIDs = promptIDs
    self.finishReason = finishReason
    self.timeToFirstTokenNs = timeToFirstTokenNs
    self.totalNs = totalNs
    self.prefillTokensPerSecond = prefillTokensPerSecond
    self.decodeTokensPerSecond = decodeTokensPerSecond
  }
}
