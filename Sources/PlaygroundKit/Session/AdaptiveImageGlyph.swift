public import Foundation
import Imaging
public import Tensors

/// A picture that stands among letters like an emoji: square, with a transparent background and a description.
public struct AdaptiveImageGlyph: Sendable, Hashable {
  /// Names the content: the same pixels, the same identifier.
  public let contentIdentifier: String
  /// What it shows, for those who can't see it.
  public let contentDescription: String
  /// The picture as a PNG file with alpha.
  public let imageContent: Data
  /// Side in pixels.
  public let side: Int

  /// Makes a glyph of a picture: cut to a square, its background removed; see ``BackgroundRemover``.
  ///
  /// - Throws: ``ImagePlaygroundError`` `creationFailed` when it can't be encoded.
  public init(picture: Bitmap, description: String) throws(ImagePlaygroundError) {
    let side = max(1, min(picture.width, picture.height))
    let square = picture.rgbOnWhite().filling(width: side, height: side)
    let cutOut = BackgroundRemover().remove(from: square)
    do {
      imageContent = Data(try PNGFile.encode(cutOut))
    } catch {
      throw ImagePlaygroundError(.creationFailed, error.description)
    }
    self.side = side
    contentDescription = description
    contentIdentifier = "glyph-" + Self.hash(cutOut.samples)
  }

  /// FNV-1a of the pixels, 64 bits, twice from different bases.
  private static func hash(_ bytes: [UInt8]) -> String {
    var (first, second): (UInt64, UInt64) = (0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142)
    for byte in bytes {
      first = (first ^ UInt64(byte)) &* 0x100_0000_01b3
      second = (second &+ UInt64(byte)) &* 0x9e37_79b9_7f4a_7c15
    }
    return [first, second].map { value in
      let text = String(value, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
  }
}
