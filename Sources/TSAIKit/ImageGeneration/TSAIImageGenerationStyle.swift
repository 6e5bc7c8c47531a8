public import Foundation

/// A style that the active provider offers.
public struct TSAIImageGenerationStyle: Sendable, Hashable, Codable {
  /// Display name.
  public let name: String
  /// Stable identifier, for the configuration of a generation.
  public let styleIdentifier: String
  /// An icon of the style.
  public let iconURL: URL?

  /// Makes a style.
  public init(name: String, styleIdentifier: String, iconURL: URL? = nil) {
    self.name = name
    self.styleIdentifier = styleIdentifier
    self.iconURL = iconURL
  }
}
