public import Foundation
import Imaging
import Tensors

#if canImport(UIKit)
  public import UIKit
#elseif canImport(AppKit)
  public import AppKit
#endif

/// An image for a vision-language model; looked at when it's used, so that making one never fails.
public struct VLMImage: Sendable, Hashable {
  enum Content: Sendable, Hashable {
    case rgb(Data, width: Int, height: Int)
    case rgba(Data, width: Int, height: Int)
    case encoded(Data)
    case file(URL)
  }

  let content: Content

  /// Raw pixels: three bytes each, red, green, blue, row by row from the top, nothing between the rows.
  ///
  /// - Parameters:
  ///   - rgbPixels: `width · height · 3` bytes; another count is refused with `invalidImage` when the image is used.
  ///   - width: Pixels in a row, at least 1.
  ///   - height: Rows, at least 1.
  public init(rgbPixels: Data, width: Int, height: Int) { content = .rgb(rgbPixels, width: width, height: height) }

  /// Raw pixels of four bytes each, the last one opacity, not premultiplied; laid on white.
  public init(rgbaPixels: Data, width: Int, height: Int) { content = .rgba(rgbaPixels, width: width, height: height) }

  /// The bytes of a PNG or JPEG file; its orientation is heeded, and it's laid on white.
  public init(data: Data) { content = .encoded(data) }

  /// A PNG or JPEG file; its orientation is heeded, and it's laid on white.
  public init(file: URL) { content = .file(file) }

  #if canImport(UIKit)
    /// An image of UIKit, upright.
    public init(image: UIImage) {
      let format = UIGraphicsImageRendererFormat()
      format.scale = 1
      format.preferredRange = .standard
      let size = CGSize(width: image.size.width * image.scale, height: image.size.height * image.scale)
      // Drawn anew, as the orientation is lost in a PNG and images of Core Image have no pixels of their own.
      let isEmpty = size.width < 1 || size.height < 1
      content = .encoded(
        isEmpty
          ? Data()
          : UIGraphicsImageRenderer(size: size, format: format).pngData { _ in image.draw(in: CGRect(origin: .zero, size: size)) }
      )
    }
  #elseif canImport(AppKit)
    /// An image of AppKit.
    public init(image: NSImage) {
      let bitmap = image.tiffRepresentation.flatMap { NSBitmapImageRep(data: $0) }
      content = .encoded(bitmap?.representation(using: .png, properties: [:]) ?? Data())
    }
  #endif

  /// The pixels.
  ///
  /// - Throws: ``SDKError`` `invalidImage`.
  func bitmap() throws(SDKError) -> Bitmap {
    switch content {
    case .rgb(let data, let width, let height): return try Self.bitmap(data, width, height, channels: 3)
    case .rgba(let data, let width, let height):
      return try Self.bitmap(data, width, height, channels: 4).rgbOnWhite()
    case .encoded(let data):
      guard !data.isEmpty else { throw SDKError(.invalidImage, "image: expected the bytes of a PNG or JPEG file, found none") }
      return try Self.decoded(name: "image") { () throws(ImageError) in try ImageFile.decode([UInt8](data), file: "image") }
    case .file(let url):
      return try Self.decoded(name: url.path) { () throws(ImageError) in try ImageFile.read(path: url.path) }
    }
  }

  private static func bitmap(_ data: Data, _ width: Int, _ height: Int, channels: Int) throws(SDKError) -> Bitmap {
    guard width > 0, height > 0 else {
      throw SDKError(.invalidImage, "image: expected at least 1x1 pixels, found \(width)x\(height)")
    }
    let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
    let (bytes, overflow2) = pixels.multipliedReportingOverflow(by: channels)
    guard !overflow, !overflow2, data.count == bytes else {
      throw SDKError(
        .invalidImage,
        "image: \(width)x\(height) pixels need \(overflow || overflow2 ? "too many" : String(bytes)) bytes, found \(data.count)")
    }
    return Bitmap(width: width, height: height, channels: channels, samples: [UInt8](data))
  }

  private static func decoded(name: String, _ decode: () throws(ImageError) -> Bitmap) throws(SDKError) -> Bitmap {
    let bitmap: Bitmap
    do {
      bitmap = try decode().rgbOnWhite()
    } catch {
      throw SDKError(.invalidImage, "\(name): \(error.message)")
    }
    guard bitmap.width > 0, bitmap.height > 0 else { throw SDKError(.invalidImage, "\(name): it has no pixels") }
    return bitmap
  }
}
