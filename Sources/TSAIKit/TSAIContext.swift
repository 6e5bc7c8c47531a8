/// A set of features with the providers behind them.
///
/// It works while it's the active one of a ``TSAIKit``. All members may be used from any thread.
public final class TSAIContext: Sendable {
  /// The features that it was made with.
  public let features: TSAIFeature
  private let generation: TSAIImageGeneration

  /// Makes a context, which isn't active yet.
  ///
  /// - Parameters:
  ///   - features: What it offers.
  ///   - imageProvider: Who makes the images; nil for nobody.
  ///   - appLanguage: What the language `unknown` stands for.
  ///   - queues: Where completions and calls of the provider run.
  public init(
    features: TSAIFeature = .imageGeneration, imageProvider: (any TSAIImageGenerationProvider)?,
    appLanguage: TSAILanguage = .ofApp, queues: TSAIQueues = .standard()
  ) {
    self.features = features
    generation = TSAIImageGeneration(
      isOffered: features.contains(.imageGeneration), provider: imageProvider, appLanguage: appLanguage, queues: queues)
  }

  /// Whether all of the features can be used: they're offered, and their providers are there and able.
  public func supportsAIFeatures(_ wanted: TSAIFeature) -> Bool {
    features.isSuperset(of: wanted) && (!wanted.contains(.imageGeneration) || generation.maximumImageCount > 0)
  }

  /// The image generation of this context.
  public var imageGeneration: any TSAIImageGenerationInterface { generation }

  /// Sets who makes the images; what the former one was asked ends with ``TSAIError/Code/activationSuperseded``.
  ///
  /// The styles of the former one are forgotten.
  public func setImageProvider(_ provider: (any TSAIImageGenerationProvider)?) { generation.setProvider(provider) }

  func begin() { generation.begin() }
  func end(with error: TSAIError) { generation.end(with: error) }
}
