import InputFiles
public import Tensors

/// Images from files of any kind that is read here; the kind is told by the content, not by the name.
public enum ImageFile {
  /// Bytes of a file that is read at most.
  private static let byteLimit = 512 << 20

  /// Reads a PNG or JPEG file.
  ///
  /// - Returns: 3 channels, or 4 when the file has transparency; see `Bitmap.rgbOnWhite()`.
  /// - Throws: ``ImageError``.
  public static func read(path: String, limits: ImageLimits = ImageLimits()) throws(ImageError) -> Bitmap {
    let bytes: [UInt8]
    do throws(InputFileError) {
      bytes = try InputFile.read(path, limit: byteLimit)
    } catch {
      throw ImageError(error.code == .invalid ? .invalid : .missing, file: path, error.message)
    }
    return try decode(bytes, file: path, limits: limits)
  }

  /// Decodes PNG or JPEG bytes.
  public static func decode(_ bytes: [UInt8], file: String = "image data", limits: ImageLimits = ImageLimits())
    throws(ImageError) -> Bitmap
  {
    if bytes.isEmpty { throw ImageError(.invalid, file: file, "the file is empty; a PNG or JPEG image was expected") }
    if bytes.starts(with: PNGFile.signature) { return try PNGFile.decode(bytes, file: file, limits: limits) }
    if bytes.starts(with: [0xff, 0xd8, 0xff]) { return try JPEGFile.decode(bytes, file: file, limits: limits) }
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
