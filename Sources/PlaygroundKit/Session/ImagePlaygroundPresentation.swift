public import Foundation
public import Tensors

/// What an app presents the sheet with.
public struct ImagePlaygroundPresentation: Sendable {
  /// Where the person starts; may be empty.
  public var concepts: [ImagePlaygroundConcept]
  /// An image as a starting point; the person may replace it.
  public var sourceImage: Bitmap?
  /// Size, personalization, variety, strategy.
  public var options: ImagePlaygroundOptions
  /// The style that the picker opens on; nil is the first allowed one.
  public var defaultStyle: ImagePlaygroundStyle?
  /// The styles of the picker; one alone locks it.
  public var allowedStyles: [ImagePlaygroundStyle]
  /// Receives the file of the accepted image, once; copy it before the session ends.
  public var onCompletion: @MainActor @Sendable (URL) -> Void
  /// Receives the glyph that was accepted in the style `emoji`, once.
  public var onAdaptiveImageGlyphCreation: @MainActor @Sendable (AdaptiveImageGlyph) -> Void
  /// Hears that the person has cancelled, once.
  public var onCancellation: @MainActor @Sendable () -> Void

  /// Makes a presentation.
  public init(
    concepts: [ImagePlaygroundConcept] = [], sourceImage: Bitmap? = nil,
    options: ImagePlaygroundOptions = ImagePlaygroundOptions(),
    defaultStyle: ImagePlaygroundStyle? = nil, allowedStyles: [ImagePlaygroundStyle] = ImagePlaygroundStyle.all,
    onCompletion: @escaping @MainActor @Sendable (URL) -> Void = { _ in },
    onAdaptiveImageGlyphCreation: @escaping @MainActor @Sendable (AdaptiveImageGlyph) -> Void = { _ in },
    onCancellation: @escaping @MainActor @Sendable () -> Void = {}
  ) {
    self.concepts = concepts
    self.sourceImage = sourceImage
    self.options = options
    self.defaultStyle = defaultStyle
    self.allowedStyles = allowedStyles
    self.onCompletion = onCompletion
    self.onAdaptiveImageGlyphCreation = onAdaptiveImageGlyphCreation
    self.onCancellation = onCancellation
  }
}
