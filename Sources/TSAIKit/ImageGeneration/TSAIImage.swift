public import Foundation
import Imaging
public import Tensors

#if canImport(UIKit)
  public import UIKit
#endif

/// A generated image; it may take a lot of memory, so persist or release it promptly.
public final class TSAIImage: Sendable {
  /// The pixels.
  public let bitmap: Bitmap

  /// Makes an image.
  public init(bitmap: Bitmap) { self.bitmap = bitmap }

  /// Pixels in a row.
  public var pixelWidth: Int { bitmap.width }
  /// Rows.
  public var pixelHeight: Int { bitmap.height }

  /// The image as a PNG file.
  ///
  /// - Throws: ``TSAIError`` `taskFailed` when it can't be encoded.
  public func pngData() throws(TSAIError) -> Data {
    do {
      return Data(try PNGFile.encode(bitmap))
    } catch {
      throw TSAIError(.taskFailed, error.description)
    }
  }

  #if canImport(UIKit)
    /// The image for UIKit, one point a pixel.
    public var uiImage: UIImage? { (try? pngData()).flatMap { UIImage(data: $0, scale: 1) } }
  #endif
}

/// The images of one task.
public struct TSAIImageGenerationResult: Sendable {
  /// The identifier that the call returned.
  public let taskId: String
  /// The images: at least one, at most as many as asked for.
  public let images: [TSAIImage]

  /// Makes a result.
  public init(taskId: String, images: [TSAIImage]) {
    self.taskId = taskId
    self.images = images
  }
}
