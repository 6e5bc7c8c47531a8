/// Features that a context may offer.
public struct TSAIFeature: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: Int
  /// Makes a set of features out of bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Images from text.
  public static let imageGeneration = TSAIFeature(rawValue: 1 << 0)
}
