/// A request that a vision-language model can't serve: what was expected, what was found, and what to do.
public struct VisionLanguageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is.
  public enum Code: String, Sendable {
    /// The image is empty or of a shape that the model can't take.
    case invalidImage
    /// The prompt and the image don't fit together.
    case invalidPrompt
  }

  /// The kind of trouble.
  public let code: Code
  /// Thing, expected, found, remedy.
  public let description: String

  /// Makes an error.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
