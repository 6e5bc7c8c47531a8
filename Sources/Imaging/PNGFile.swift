internal import CPNG
public import Tensors

/// PNG images through libpng's simplified interface, with text chunks.
public enum PNGFile {
  /// The eight bytes that every PNG file begins with.
  static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

  /// One text of a file: a keyword of 1...79 Latin-1 characters and its value.
  public struct Text: Sendable, Hashable {
    /// The keyword: `parameters`, `Software`, `Description`.
    public var keyword: String
    /// The value.
    public var value: String

    /// Makes a text.
    public init(_ keyword: String, _ value: String) {
      self.keyword = keyword
      self.value = value
    }
  }

  /// Decodes any PNG: palette, grey, alpha, 1...16 bits, interlaced.
  ///
  /// Samples are taken as they are: gamma and colour profiles aren't applied, as in Pillow; 16 bits are scaled to 8 with
  /// rounding. The orientation of an `eXIf` chunk is honoured.
  ///
  /// - Returns: 3 channels, or 4 when the file has transparency.
  /// - Throws: ``ImageError``: wrong signature, truncated, a wrong CRC, beyond the limits.
  public static func decode(_ bytes: [UInt8], file: String = "PNG data", limits: ImageLimits = ImageLimits()) throws(ImageError)
    -> Bitmap
  {
    let chunks = try PNGChunk.read(bytes, file: file)
    guard let header = chunks.first, header.type == "IHDR", header.data.count == 13,
      let width = ByteReader(header.data).u32(at: 0), let height = ByteReader(header.data).u32(at: 4)
    else { throw ImageError(.invalid, file: file, "not a PNG: the first chunk must be an IHDR of 13 bytes") }
    try limits.check(width: width, height: height, file: file)
    guard chunks.contains(where: { $0.type == "IDAT" }) else {
      throw ImageError(.invalid, file: file, "the PNG has no image data (IDAT)")
    }
    // libpng sees only what makes the samples, so that colour profiles and texts neither change nor cost anything.
    var plain = signature
    for chunk in chunks where chunk.isCritical || chunk.type == "tRNS" { chunk.append(to: &plain) }

    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    defer { png_image_free(&image) }
    guard png_image_begin_read_from_memory(&image, plain, plain.count) != 0 else {
      throw ImageError(.invalid, file: file, "not a readable PNG: \(message(of: image))")
    }
    let hasAlpha = image.format & UInt32(PNG_FORMAT_FLAG_ALPHA) != 0
    image.format = UInt32(PNG_FORMAT_FLAG_COLOR) | (hasAlpha ? UInt32(PNG_FORMAT_FLAG_ALPHA) : 0)
    image.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
    let channels = hasAlpha ? 4 : 3
    try limits.requireMemory(width: width, height: height, channels: channels, file: file)
    var samples = [UInt8](repeating: 0, count: width * height * channels)
    guard png_image_finish_read(&image, nil, &samples, Int32(width * channels), nil) != 0 else {
      throw ImageError(.invalid, file: file, "the PNG's image data is damaged or cut off: \(message(of: image))")
    }
    let bitmap = Bitmap(width: width, height: height, channels: channels, samples: samples)
    guard let exif = chunks.first(where: { $0.type == "eXIf" }) else { return bitmap }
    return bitmap.upright(orientation: ExifOrientation.orientation(inTIFF: exif.data))
  }

  /// Encodes an image; the same image and texts always give the same bytes.
  ///
  /// Texts follow the header: `tEXt` when the value is Latin-1, otherwise `iTXt` in UTF-8, as Pillow does it.
  ///
  /// - Throws: ``ImageError`` when the image is empty or a keyword isn't 1...79 printable Latin-1 characters.
  public static func encode(_ bitmap: Bitmap, texts: [Text] = []) throws(ImageError) -> [UInt8] {
    guard bitmap.width > 0, bitmap.height > 0 else {
      throw ImageError(.invalid, file: "PNG data", "size: expected at least 1x1, found \(bitmap.width)x\(bitmap.height)")
    }
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    image.width = UInt32(bitmap.width)
    image.height = UInt32(bitmap.height)
    image.format =
      (bitmap.channels >= 3 ? UInt32(PNG_FORMAT_FLAG_COLOR) : 0)
      | (bitmap.channels % 2 == 0 ? UInt32(PNG_FORMAT_FLAG_ALPHA) : 0)
    defer { png_image_free(&image) }
    let stride = bitmap.width * bitmap.channels
    let rawCount = (stride + 1) * bitmap.height
    // Room for incompressible data: deflate's own overhead, chunk frames, header.
    var byteCount = rawCount + rawCount / 64 + 8192
    var bytes = [UInt8](repeating: 0, count: byteCount)
    guard png_image_write_to_memory(&image, &bytes, &byteCount, 0, bitmap.samples, Int32(stride), nil) != 0 else {
      throw ImageError(.invalid, file: "PNG data", "libpng can't encode it: \(message(of: image))")
    }
    bytes.removeLast(bytes.count - byteCount)
    if texts.isEmpty { return bytes }
    let headerEnd = signature.count + 25
    var output = Array(bytes[..<headerEnd])
    for text in texts { try PNGChunk(text: text).append(to: &output) }
    output.append(contentsOf: bytes[headerEnd...])
    return output
  }

  /// The `tEXt` and uncompressed `iTXt` chunks of a file, in order.
  public static func texts(in bytes: [UInt8], file: String = "PNG data") throws(ImageError) -> [Text] {
    try PNGChunk.read(bytes, file: file).compactMap(\.text)
  }

  private static func message(of image: png_image) -> String {
    withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
