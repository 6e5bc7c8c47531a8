public import Tensors

/// A provider of images that the person has configured, beside the system's own.
public protocol ExternalImageProvider: Sendable {
  /// What the person knows it by.
  var name: String { get }
  /// Makes one image, of about the requested size.
  ///
  /// Cancelling the task must end it. What it throws is shown to the person.
  func image(_ request: ExternalImageRequest) async throws -> Bitmap
}

/// What an external provider is asked for.
public struct ExternalImageRequest: Sendable, Hashable {
  /// What to show, in the person's words.
  public var prompt: String
  /// Pixels in a row.
  public var width: Int
  /// Rows.
  public var height: Int
  /// A picture to start from.
  public var sourceImage: Bitmap?

  /// Makes a request.
  public init(prompt: String, width: Int, height: Int, sourceImage: Bitmap? = nil) {
    self.prompt = prompt
    self.width = width
    self.height = height
    self.sourceImage = sourceImage
  }
}
