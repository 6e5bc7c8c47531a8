import GenBackend

/// How tokens are chosen; without arguments the likeliest one always.
public struct VLMGenerationOptions: Sendable, Hashable, Codable {
  /// Divides the logits, 0...2; 0 takes the likeliest token always.
  public var temperature: Double
  /// Keeps the likeliest tokens up to this probability; 0...1.
  public var topP: Double
  /// Keeps the k likeliest tokens; 0 keeps all.
  public var topK: Int
  /// Seed of the draws; 0...2^32-1.
  public var seed: Int64

  /// Makes options.
  public init(temperature: Double = 0, topP: Double = 1, topK: Int = 0, seed: Int64 = 0) {
    self.temperature = temperature
    self.topP = topP
    self.topK = topK
    self.seed = seed
  }

  /// The engine's form.
  ///
  /// - Throws: ``SDKError`` `invalidInput` when a value is out of its range.
  func sampling() throws(SDKError) -> TextRequest.Sampling {
    // NaN is in no range.
    guard (0...2).contains(temperature) else {
      throw SDKError(.invalidInput, "temperature: expected 0...2, found \(temperature)")
    }
    guard (0...1).contains(topP) else { throw SDKError(.invalidInput, "topP: expected 0...1, found \(topP)") }
    guard topK >= 0 else { throw SDKError(.invalidInput, "topK: expected at least 0, found \(topK)") }
    guard (0...Int64(UInt32.max)).contains(seed) else {
      throw SDKError(.invalidInput, "seed: expected 0...\(UInt32.max), found \(seed)")
    }
    return TextRequest.Sampling(temperature: temperature, topK: topK, topP: topP, seed: UInt64(seed))
  }
}
