import Foundation
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
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw ImageError(.missing, file: path, "no such file")
    }
    if isFolder.boolValue { throw ImageError(.invalid, file: path, "an image file was expected, found a folder") }
    let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    guard size <= byteLimit else {
      throw ImageError(.unsupported, file: path, "\(size) bytes is beyond the limit of \(byteLimit) for an image")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ImageError(.missing, file: path, "can't be opened; check its permissions")
    }
    return try decode([UInt8](data), file: path, limits: limits)
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
