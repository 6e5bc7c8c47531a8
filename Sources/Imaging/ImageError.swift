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

  /// Makes limits; the defaults take a 100-megapixel photograph.
  public init(side: Int = 32_768, pixels: Int = 120_000_000) {
    self.side = side
    self.pixels = pixels
  }

  /// Throws when an image of this size isn't decoded.
  func check(width: Int, height: Int, file: String) throws(ImageError) {
    guard width > 0, height > 0 else {
      throw ImageError(.invalid, file: file, "size: expected at least 1x1, found \(width)x\(height)")
    }
    guard width <= side, height <= side, width * height <= pixels else {
      throw ImageError(
        .unsupported, file: file,
        "size \(width)x\(height) is beyond the limit of \(side) a side and \(pixels) pixels; make the image smaller first")
    }
  }
}
