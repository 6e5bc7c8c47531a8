public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Chooses the next token from logits.
///
/// In this order, as transformers' generation has it: repetition penalty, temperature, top-k, top-p, min-p, then a draw.
public struct TokenSampler: Sendable {
  /// How tokens are chosen.
  public struct Settings: Sendable, Hashable {
    /// Divides the logits; 0 takes the likeliest token always (after the repetition penalty).
    public var temperature: Double
    /// Keeps the k likeliest; 0 keeps all.
    public var topK: Int
    /// Keeps the likeliest until their probabilities sum to this.
    ///
    /// Holtzman et al. 2020, arXiv:1904.09751, section 3.1.
    public var topP: Double
    /// Drops tokens less likely than this share of the likeliest; arXiv:2407.01082.
    public var minP: Double
    /// Divides positive and multiplies negative logits of tokens that occurred; 1 is off; arXiv:1909.05858, section 4.1.
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

    /// What is wrong with the settings: name, expected, found; nil when nothing is.
    public var problem: String? {
      if !(temperature >= 0 && temperature <= 100) { return "temperature: expected a number in 0...100, found \(temperature)" }
      if topK < 0 { return "top k: expected at least 0, found \(topK)" }
      if !(topP >= 0 && topP <= 1) { return "top p: expected a number in 0...1, found \(topP)" }
      if !(minP >= 0 && minP <= 1) { return "min p: expected a number in 0...1, found \(minP)" }
      if !(repetitionPenalty > 0 && repetitionPenalty <= 100) {
        return "repetition penalty: expected a number above 0 and up to 100, found \(repetitionPenalty)"
      }
      return nil
    }
  }

  /// A token that may be drawn.
  public struct Candidate: Sendable, Hashable {
    /// The token.
    public var id: Int
    /// Its probability among the candidates.
    public var probability: Double
  }

  private let settings: Settings
  private var state: UInt64

  /// Makes a sampler at the beginning of its draws.
  public init(_ settings: Settings) {
    self.settings = settings
    state = settings.seed
  }

  /// The next token.
  ///
  /// - Parameters:
  ///   - logits: `[vocabularySize]`, finite.
  ///   - history: The ids so far, for the repetition penalty.
  public mutating func next(_ logits: Tensor, history: [Int]) -> Int {
    let penalised = penalise(logits, history: history)
    guard settings.temperature > 0 else { return Self.likeliest(penalised) }
    let candidates = warp(penalised)
    var remaining = uniform()
    for candidate in candidates {
      remaining -= candidate.probability
      if remaining < 0 { return candidate.id }
    }
    return candidates.last?.id ?? 0
  }

  /// The tokens that may be drawn, likeliest first, with their probabilities.
  public func candidates(_ logits: Tensor, history: [Int]) -> [Candidate] { warp(penalise(logits, history: history)) }

  /// The position of the largest element, the first of equal ones.
  static func likeliest(_ logits: Tensor) -> Int {
    logits.withUnsafeBuffer { values in
      var best = 0
      for index in values.indices where values[index] > values[best] { best = index }
      return best
    }
  }

  private func penalise(_ logits: Tensor, history: [Int]) -> Tensor {
    guard settings.repetitionPenalty != 1 else { return logits }
    let penalty = Float(settings.repetitionPenalty)
    var penalised = logits
    penalised.withUnsafeMutableBuffer { values in
      for id in Set(history) where values.indices.contains(id) {
        values[id] = values[id] < 0 ? values[id] * penalty : values[id] / penalty
      }
    }
    return penalised
  }

  private func warp(_ logits: Tensor) -> [Candidate] {
    let temperature = settings.temperature > 0 ? settings.temperature : 1
    let scaled = logits.withUnsafeBuffer { $0.map { Double($0) / temperature } }
    // Equal logits stand in the order of their ids, so that a draw depends on nothing else.
    var order = Array(scaled.indices)
    order.sort { scaled[$0] != scaled[$1] ? scaled[$0] > scaled[$1] : $0 < $1 }
    if settings.topK > 0 { order.removeLast(max(0, order.count - settings.topK)) }
    if settings.topP < 1 {
      let probabilities = Self.softmax(order.map { scaled[$0] })
      var sum = 0.0
      var kept = 0
      while kept < order.count, kept == 0 || sum < settings.topP {
        sum += probabilities[kept]
        kept += 1
      }
      order.removeLast(order.count - kept)
    }
    if settings.minP > 0, let best = order.first {
      let least = scaled[best] + log(settings.minP)
      order.removeAll { scaled[$0] < least }
      if order.isEmpty { order = [best] }
    }
    return zip(order, Self.softmax(order.map { scaled[$0] })).map { Candidate(id: $0, probability: $1) }
  }

  /// Probabilities of logits whose first is the largest.
  private static func softmax(_ logits: [Double]) -> [Double] {
    guard let largest = logits.first else { return [] }
    let weights = logits.map { exp($0 - largest) }
    let sum = weights.reduce(0, +)
    return weights.map { $0 / sum }
  }

  /// The next number of 0..<1 with 53 random bits: SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom
  /// number generators").
  private mutating func uniform() -> Double {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    bits ^= bits >> 31
    return Double(bits >> 11) * 0x1p-53
  }
}
