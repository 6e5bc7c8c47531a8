public import Foundation

/// How images are made; copied by the call that takes it.
public final class TSAIImageGenerationConfig: NSObject, NSCopying {
  /// A style of the current snapshot; nil or empty leaves the style unspecified.
  public var styleIdentifier: String?
  /// Images to make: at least 1, at most the provider's limit.
  public var imageCount = 1
  /// Width and height in pixels, not points; whole numbers above 0.
  public var imageSize: CGSize
  /// The language of the prompt; `unknown` stands for the app's own, `auto` isn't allowed.
  public var language = TSAILanguage.unknown

  /// Makes a configuration for one image.
  public init(styleIdentifier: String?, imageSize: CGSize) {
    self.styleIdentifier = styleIdentifier
    self.imageSize = imageSize
  }

  /// Makes a configuration for one image: the documented factory.
  public static func config(styleIdentifier: String?, imageSize: CGSize) -> TSAIImageGenerationConfig {
    TSAIImageGenerationConfig(styleIdentifier: styleIdentifier, imageSize: imageSize)
  }

  /// A copy that later changes of this one don't reach.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TSAIImageGenerationConfig(styleIdentifier: styleIdentifier, imageSize: imageSize)
    copy.imageCount = imageCount
    copy.language = language
    return copy
  }
}
