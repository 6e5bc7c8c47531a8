public import Foundation

/// A style of an engine that knows none: words around the prompt.
public struct PromptStyle: Sendable, Hashable {
  /// What an app sees.
  public let style: TSAIImageGenerationStyle
  /// The prompt for the engine, with `{prompt}` in the place of the app's.
  public let template: String
  /// What to avoid.
  public let negativePrompt: String?

  /// Makes a style.
  public init(_ identifier: String, name: String, iconURL: URL? = nil, template: String, negativePrompt: String? = nil) {
    style = TSAIImageGenerationStyle(name: name, styleIdentifier: identifier, iconURL: iconURL)
    self.template = template
    self.negativePrompt = negativePrompt
  }

  /// The prompt for the engine.
  public func prompt(_ text: String) -> String { template.replacing("{prompt}", with: text) }

  /// Styles that every Stable Diffusion model knows.
  public static let standard = [
    PromptStyle(
      "photo", name: "Photo", template: "photograph of {prompt}, natural light, sharp focus",
      negativePrompt: "drawing, painting, blurry"),
    PromptStyle("illustration", name: "Illustration", template: "{prompt}, flat illustration, clean lines, vivid colors"),
    PromptStyle("watercolor", name: "Watercolor", template: "{prompt}, watercolor painting, soft washes, paper texture"),
    PromptStyle("oil-painting", name: "Oil painting", template: "{prompt}, oil painting, visible brush strokes, canvas"),
    PromptStyle("sketch", name: "Sketch", template: "{prompt}, pencil sketch, hand-drawn, monochrome", negativePrompt: "color"),
    PromptStyle("pixel-art", name: "Pixel art", template: "{prompt}, pixel art, limited palette"),
  ]
}
