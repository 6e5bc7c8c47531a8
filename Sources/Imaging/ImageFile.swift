import InputFiles
public import Tensors

/// Images from files of any kind that is read here; the kind is told by the content, not by the name.
public enum ImageFile {
  /// Reads a PNG or JPEG file; links are followed, and a pipe is read to its end.
  ///
  /// - Returns: 3 channels, or 4 when the file has transparency; see `Bitmap.rgbOnWhite()`.
  /// - Throws: ``ImageError``.
  public static func read(path: String, limits: ImageLimits = ImageLimits()) throws(ImageError) -> Bitmap {
    let bytes: [UInt8]
    do throws(InputFileError) {
      // What is no image isn't read any further than its first bytes.
      bytes = try InputFile.read(path, limit: limits.bytes) { (try? checkKind($0, file: path)) != nil }
    } catch {
      switch error.code {
      case .tooLong: throw ImageError(.unsupported, file: path, "more than \(limits.bytes) bytes, the limit for an image")
      case .invalid: throw ImageError(.invalid, file: path, error.message)
      case .missing, .cancelled: throw ImageError(.missing, file: path, error.message)
      }
    }
    return try decode(bytes, file: path, limits: limits)
  }

  /// Decodes PNG or JPEG bytes.
  public static func decode(_ bytes: [UInt8], file: String = "image data", limits: ImageLimits = ImageLimits())
    throws(ImageError) -> Bitmap
  {
    try checkKind(bytes, file: file)
    return try bytes.starts(with: PNGFile.signature)
      ? PNGFile.decode(bytes, file: file, limits: limits) : JPEGFile.decode(bytes, file: file, limits: limits)
  }

  /// Throws when the beginning is that of neither PNG nor JPEG.
  private static func checkKind(_ bytes: [UInt8], file: String) throws(ImageError) {
    if bytes.isEmpty { throw ImageError(.invalid, file: file, "the file is empty; a PNG or JPEG image was expected") }
    if bytes.starts(with: PNGFile.signature) || bytes.starts(with: [0xff, 0xd8, 0xff]) { return }
    let kinds: [(String, [UInt8], Int)] = [
      ("GIF", Array("GIF8".utf8), 0), ("BMP", Array("BM".utf8), 0), ("TIFF", [0x49, 0x49, 42, 0], 0),
      ("TIFF", [0x4d, 0x4d, 0, 42], 0), ("WebP", Array("WEBP".utf8), 8), ("HEIF or AVIF", Array("ftyp".utf8), 4),
    ]
    if let kind = kinds.first(where: { bytes.dropFirst($0.2).starts(with: $0.1) }) {
      throw ImageError(.unsupported, file: file, "\(kind.0) images aren't read here; convert it to PNG or JPEG")
    }
    throw ImageError(.invalid, file: file, "not an image: expected PNG or JPEG, the content begins with neither's mark")
  }
}
