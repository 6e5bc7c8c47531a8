public import Foundation
import Imaging
public import Tensors

/// A part of what an image shows: words, a longer text, a drawing, or another image.
public struct ImagePlaygroundConcept: Sendable, Hashable {
  /// What it's made of.
  enum Content: Sendable, Hashable {
    case text(String)
    case extracted(text: String, title: String?)
    case drawing(PlaygroundDrawing)
    case image(Bitmap)
  }

  let content: Content

  /// A short description, used as it is.
  public static func text(_ text: String) -> ImagePlaygroundConcept { .init(content: .text(text)) }

  /// The most relevant ideas of a longer text; see ``KeyPhraseExtractor``.
  ///
  /// - Parameters:
  ///   - text: The text, such as the message of a card; a short one is used whole.
  ///   - title: What the text is about; its words count more.
  public static func extracted(from text: String, title: String? = nil) -> ImagePlaygroundConcept {
    .init(content: .extracted(text: text, title: title))
  }

  /// Strokes that guide the composition; at most one a request.
  public static func drawing(_ drawing: PlaygroundDrawing) -> ImagePlaygroundConcept { .init(content: .drawing(drawing)) }

  /// An image as inspiration; at most one a request.
  public static func image(_ bitmap: Bitmap) -> ImagePlaygroundConcept { .init(content: .image(bitmap)) }

  /// The image of a PNG or JPEG file; nil when there's none that can be read.
  public static func image(_ url: URL) -> ImagePlaygroundConcept? {
    guard url.isFileURL, let bitmap = try? ImageFile.read(path: url.path) else { return nil }
    return .image(bitmap)
  }

  /// The words that it brings to a prompt; empty for drawings and images.
  public var words: String {
    switch content {
    case .text(let text): text.trimmingCharacters(in: .whitespacesAndNewlines)
    case .extracted(let text, let title): KeyPhraseExtractor().phrases(of: text, title: title).joined(separator: ", ")
    case .drawing, .image: ""
    }
  }

  /// The text that it was made from; nil for drawings and images.
  var text: String? {
    switch content {
    case .text(let text), .extracted(let text, _): text
    case .drawing, .image: nil
    }
  }
}
