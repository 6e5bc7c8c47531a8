#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An image that can't be read or written: which file, what was expected, what was found, what to do.
public struct ImageError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of trouble it is; decides the exit code of the command line.
  public enum Code: String, Sendable {
    /// The file isn't there or can't be opened (exit 66).
    case missing
    /// The content is damaged or contradicts itself (exit 65).
    case invalid
    /// Well-formed, but of a kind or size that isn't read here (exit 65).
    case unsupported
    /// The system doesn't give the memory for it (exit 3).
    case outOfMemory
  }

  /// The kind of trouble.
  public let code: Code
  /// The path of the file, or what stands for it when the bytes came from memory.
  public let file: String
  /// The message without the path.
  public let message: String

  /// Makes an error.
  public init(_ code: Code, file: String, _ message: String) {
    self.code = code
    self.file = file
    self.message = message
  }

  /// `path: message`.
  public var description: String { "\(file): \(message)" }
}

/// The largest image that is decoded; the sizes are looked at before any memory is taken.
public struct ImageLimits: Sendable, Hashable {
  /// Most pixels in a row or rows.
  public var side: Int
  /// Most pixels altogether.
  public var pixels: Int
  /// Most scans of a progressive JPEG; encoders write about ten.
  public var scans: Int
  /// Most pixels that all scans together go over, as each goes over the whole image.
  public var scannedPixels: Int
  /// Most bytes of a file.
  public var bytes: Int

  /// Makes limits; the defaults take a 100-megapixel photograph.
  public init(
    side: Int = 32_768, pixels: Int = 120_000_000, scans: Int = 500, scannedPixels: Int = 2_000_000_000, bytes: Int = 512 << 20
  ) {
    self.side = side
    self.pixels = pixels
    self.scans = scans
    self.scannedPixels = scannedPixels
    self.bytes = bytes
  }

  /// The limits of images that are drawn over: what the engine can't make isn't decoded.
  public static let drawing = ImageLimits(side: 8192, pixels: 8192 * 8192)

  /// Throws when a progressive image has more scans than are decoded.
  func check(scans count: Int, width: Int, height: Int, file: String) throws(ImageError) {
    let (scanned, overflow) = count.multipliedReportingOverflow(by: width * height)
    guard count <= scans, !overflow, scanned <= max(scannedPixels, width * height) else {
      throw ImageError(
        .unsupported, file: file,
        "\(count) scans of \(width)x\(height) pixels are beyond the limit of \(scans) scans and \(scannedPixels) pixels in all of "
          + "them; save the image anew")
    }
  }

  /// Throws when the system doesn't give the memory of an image: an array that can't be had would end the process.
  func requireMemory(width: Int, height: Int, channels: Int, file: String) throws(ImageError) {
    let bytes = width * height * channels
    guard let memory = malloc(bytes) else {
      throw ImageError(
        .outOfMemory, file: file,
        "\(width)x\(height) pixels need \(bytes >> 20) MiB, which the system doesn't give; make the image smaller first")
    }
    free(memory)
  }

  /// Throws when an image of this size isn't decoded.
  func check(width: Int, height: Int, file: String) throws(ImageError) {
    guard width > 0, height > 0 else {
      throw ImageError(.invalid, file: file, "size: expected at least 1x1, found \(width)x\(height)")
    }
    guard width <= side, height <= side, width <= pixels / height else {
      throw ImageError(
        .unsupported, file: file,
        "size \(width)x\(height) is beyond the limit of \(side) a side and \(pixels) pixels; make the image smaller first")
    }
  }
}
