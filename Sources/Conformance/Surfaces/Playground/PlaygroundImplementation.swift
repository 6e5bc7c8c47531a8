public import Foundation
public import Tensors

/// What is judged by the group P: an SDK in Image Playground's shape, written by its owner; styles are told by their identifiers.
public struct PlaygroundImplementation: ThrowingImplementation {
  /// What the SDK can do beyond the documented minimum.
  public var capabilities: Set<PlaygroundSurface.Capability>
  /// Whether an app may show the sheet: `supportsImagePlayground`.
  public var isAvailable: @Sendable () async -> Bool
  /// The sizes that images can have.
  public var supportedSizes: [CGSize]
  /// The size of options that set none.
  public var defaultSize: CGSize
  /// `closest(to:)`; nil when it refuses the size.
  public var closestSize: @Sendable (CGSize) -> CGSize?
  /// The identifiers of the documented styles by their names: animation, illustration, sketch, emoji, externalProvider.
  public var styles: [String: String]
  /// Encodes a style as JSON.
  public var encodedStyle: @Sendable (_ id: String) throws -> Data
  /// Decodes a style.
  public var decodedStyle: @Sendable (_ json: Data) throws -> String
  /// Whether personalization is on in options that set nothing.
  public var isPersonalizedByDefault: Bool
  /// Whether an image concept comes of a URL.
  public var makesImageConceptOfURL: @Sendable (URL) -> Bool
  /// Whether an image concept comes of pixels.
  public var makesImageConceptOfPixels: @Sendable (Bitmap) -> Bool
  /// Presents the sheet, nil when it doesn't appear; `onCallback` runs in the very call of the app's handlers.
  public var present:
    @Sendable (PlaygroundSurface.Presentation, _ onCallback: @escaping @Sendable (PlaygroundSurface.Callback) -> Void)
      async throws -> PlaygroundSheet?
  /// `ImageCreator()`; throws what it throws.
  public var makeCreator: @Sendable () async throws -> PlaygroundCreator
  /// Translates an error of `ImageCreator` by its case.
  ///
  /// One that is a ``Failure`` already stays as it is.
  public var failure: @Sendable (any Error) -> Failure<PlaygroundSurface.CreatorError>

  /// Makes an implementation.
  public init(
    capabilities: Set<PlaygroundSurface.Capability>,
    isAvailable: @escaping @Sendable () async -> Bool,
    supportedSizes: [CGSize],
    defaultSize: CGSize,
    closestSize: @escaping @Sendable (CGSize) -> CGSize?,
    styles: [String: String],
    encodedStyle: @escaping @Sendable (_ id: String) throws -> Data,
    decodedStyle: @escaping @Sendable (_ json: Data) throws -> String,
    isPersonalizedByDefault: Bool,
    makesImageConceptOfURL: @escaping @Sendable (URL) -> Bool,
    makesImageConceptOfPixels: @escaping @Sendable (Bitmap) -> Bool,
    present:
      @escaping @Sendable (PlaygroundSurface.Presentation, _ onCallback: @escaping @Sendable (PlaygroundSurface.Callback) -> Void)
      async throws -> PlaygroundSheet?,
    makeCreator: @escaping @Sendable () async throws -> PlaygroundCreator,
    failure: @escaping @Sendable (any Error) -> Failure<PlaygroundSurface.CreatorError>
  ) {
    self.capabilities = capabilities
    self.isAvailable = isAvailable
    self.supportedSizes = supportedSizes
    self.defaultSize = defaultSize
    self.closestSize = closestSize
    self.styles = styles
    self.encodedStyle = encodedStyle
    self.decodedStyle = decodedStyle
    self.isPersonalizedByDefault = isPersonalizedByDefault
    self.makesImageConceptOfURL = makesImageConceptOfURL
    self.makesImageConceptOfPixels = makesImageConceptOfPixels
    self.present = present
    self.makeCreator = makeCreator
    self.failure = { ($0 as? Failure<PlaygroundSurface.CreatorError>) ?? failure($0) }
  }
}
