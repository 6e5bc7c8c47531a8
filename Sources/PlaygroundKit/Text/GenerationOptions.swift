/// How the next token is chosen, and how many there may be.
public struct GenerationOptions: Sendable, Hashable {
  /// How one of the likely tokens is taken.
  public struct SamplingMode: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      case greedy
      case top(Int, seed: UInt64?)
      case probability(Double, seed: UInt64?)
    }

    let kind: Kind

    /// Always the likeliest: the same prompt, the same answer.
    public static let greedy = SamplingMode(kind: .greedy)

    /// One of the `k` likeliest.
    public static func random(top k: Int, seed: UInt64? = nil) -> SamplingMode { SamplingMode(kind: .top(k, seed: seed)) }

    /// One of the likeliest whose probabilities sum to a threshold, 0...1.
    public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> SamplingMode {
      SamplingMode(kind: .probability(probabilityThreshold, seed: seed))
    }
  }

  /// How one of the likely tokens is taken; nil leaves it to the model.
  public var sampling: SamplingMode?
  /// Divides the logits, 0...2; nil leaves it to the model.
  public var temperature: Double?
  /// The most tokens of the answer; nil is as many as fit.
  public var maximumResponseTokens: Int?

  /// Makes options.
  public init(sampling: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
    self.sampling = sampling
    self.temperature = temperature
    self.maximumResponseTokens = maximumResponseTokens
  }
}
