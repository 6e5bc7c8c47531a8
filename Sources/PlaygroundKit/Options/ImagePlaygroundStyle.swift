/// How an image looks.
///
/// A style is known by its identifier, which is stable: it's what's encoded, and what two styles are compared by.
public struct ImagePlaygroundStyle: Sendable, Hashable, Identifiable, Codable, CustomStringConvertible {
  /// The identifier.
  public let id: String

  /// Makes a style of an identifier, of this or of a later version.
  public init(id: String) { self.id = id }

  /// Playful, three-dimensional.
  public static let animation = ImagePlaygroundStyle(id: "animation")
  /// Two-dimensional, polished.
  public static let illustration = ImagePlaygroundStyle(id: "illustration")
  /// Drawn by hand.
  public static let sketch = ImagePlaygroundStyle(id: "sketch")
  /// Expressive and small, for use among letters.
  public static let emoji = ImagePlaygroundStyle(id: "emoji")
  /// Whatever the person's own provider makes; offered only where an app lists it.
  public static let externalProvider = ImagePlaygroundStyle(id: "externalProvider")
  /// No preset: what the words say.
  public static let any = ImagePlaygroundStyle(id: "any")

  /// The styles that are offered unless an app says otherwise: all but the external provider's.
  public static let all: [ImagePlaygroundStyle] = [.animation, .illustration, .sketch, .emoji, .any]

  /// Decodes the identifier.
  public init(from decoder: any Decoder) throws { id = try decoder.singleValueContainer().decode(String.self) }

  /// Encodes the identifier.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(id)
  }

  /// The identifier.
  public var description: String { id }
}

extension ImagePlaygroundStyle {
  /// The prompt for an engine that knows no styles.
  func prompt(_ words: String) -> String {
    let look: String? =
      switch self {
      case .animation: "3D animated film still, soft studio light, expressive, playful"
      case .illustration: "flat vector illustration, clean outlines, vivid colors"
      case .sketch: "hand-drawn pencil sketch on white paper, cross-hatching"
      case .emoji: "single emoji sticker, centered, bold shapes, plain white background"
      default: nil
      }
    return [words, look].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ", ")
  }

  /// What an engine should avoid.
  var negativePrompt: String? {
    switch self {
    case .animation, .illustration: "photograph, blurry, text, watermark"
    case .sketch: "photograph, color, text, watermark"
    case .emoji: "scenery, background, frame, text, watermark"
    default: nil
    }
  }
}
