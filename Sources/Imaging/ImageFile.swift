public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Images from files of any kind that is read here; the kind is told by the content, not by the name.
public enum ImageFile {
  /// Reads a PNG or JPEG file; links are followed, and a pipe is read to its end.
  ///
  /// - Returns: 3 channels, or 4 when the file has transparency; see `Bitmap.rgbOnWhite()`.
  /// - Throws: ``ImageError``.
  public static func read(path: String, limits: ImageLimits = ImageLimits()) throws(ImageError) -> Bitmap {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ImageError(
        .missing, file: path,
        errno == ENOENT ? "no such file" : "can't be opened: \(String(cString: strerror(errno))); check its permissions")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      throw ImageError(.invalid, file: path, "an image file was expected, found a folder")
    }
    func tooLarge() -> ImageError {
      ImageError(.unsupported, file: path, "more than \(limits.bytes) bytes, the limit for an image")
    }
    guard status.st_size <= limits.bytes else { throw tooLarge() }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      #if canImport(Darwin)
        let count = Darwin.read(descriptor, &buffer, buffer.count)
      #else
        let count = Glibc.read(descriptor, &buffer, buffer.count)
      #endif
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ImageError(.missing, file: path, "can't be read: \(String(cString: strerror(errno)))") }
      if count == 0 { break }
      // What is no image isn't read any further.
      if bytes.isEmpty, count >= 16 { try checkKind(Array(buffer[..<count]), file: path) }
      bytes += buffer[..<count]
      guard bytes.count <= limits.bytes else { throw tooLarge() }
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
