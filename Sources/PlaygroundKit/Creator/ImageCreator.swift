import GenBackend
public import Tensors

#if canImport(CoreGraphics)
  public import CoreGraphics
  public import Foundation
  import Imaging
  import ImageIO
#endif

/// Makes images without any interface.
///
/// ```swift
/// let creator = try await ImageCreator()
/// for try await image in creator.images(for: [.text("a medieval castle")], style: .illustration, limit: 1) {
///   show(image.bitmap)
/// }
/// ```
public final class ImageCreator: Sendable {
  /// The most images of one call.
  public static let imageLimit = 4

  /// One image.
  public struct CreatedImage: Sendable, Hashable {
    /// The pixels, RGB.
    public let bitmap: Bitmap

    #if canImport(CoreGraphics)
      /// The image for Core Graphics; nil when it can't be made.
      public var cgImage: CGImage? {
        guard let bytes = try? PNGFile.encode(bitmap),
          let source = CGImageSourceCreateWithData(Data(bytes) as CFData, nil)
        else { return nil }
        return CGImageSourceCreateImageAtIndex(source, 0, nil)
      }
    #endif
  }

  private let system: ImagePlaygroundSystem

  /// Makes a creator of the shared system.
  ///
  /// - Throws: ``ImageCreator/Error``: `notSupported` where the device or this version of the system can't, `unavailable` where
  ///   no model is loaded or images are turned off.
  public convenience init() async throws {
    guard let system = ImagePlaygroundSystem.shared else { throw Error.unavailable }
    try await self.init(system: system)
  }

  /// Makes a creator of a system.
  ///
  /// - Throws: As ``init()``.
  public init(system: ImagePlaygroundSystem) async throws {
    let environment = system.environment
    guard environment.isDeviceCapable, environment.offersImageCreator else { throw Error.notSupported }
    guard environment.availability.supportsImagePlayground, environment.isSiteReachable,
      let model = system.model, model.capabilities.contains(.textToImage)
    else { throw Error.unavailable }
    self.system = system
  }

  /// The styles that can be asked for: the presets that make images; neither glyphs nor the external provider.
  public var availableStyles: [ImagePlaygroundStyle] { [.animation, .illustration, .sketch] }

  /// Makes images, each when it's asked for.
  ///
  /// Nothing is made before the first one is awaited, and nothing after the loop is left. Cancelling the task that awaits one
  /// stops the engine and ends the sequence with ``Error/creationCancelled``.
  ///
  /// - Parameters:
  ///   - concepts: What to show.
  ///   - style: One of ``availableStyles``; another one ends the sequence with ``Error/creationFailed``.
  ///   - limit: The most images; above 4 it's 4, below 1 there are none.
  ///   - options: Size, personalization, variety, strategy.
  public func images(
    for concepts: [ImagePlaygroundConcept], style: ImagePlaygroundStyle, limit: Int,
    options: ImagePlaygroundOptions = ImagePlaygroundOptions()
  ) -> Images {
    Images(
      system: system, isStyleAvailable: availableStyles.contains(style),
      request: PlaygroundRequest(concepts: concepts, style: style, options: options, seed: system.newSeed()),
      limit: min(max(limit, 0), Self.imageLimit))
  }

  /// The images of one call; each loop over it begins anew.
  public struct Images: AsyncSequence, Sendable {
    let system: ImagePlaygroundSystem
    let isStyleAvailable: Bool
    let request: PlaygroundRequest
    let limit: Int

    /// Begins.
    public func makeAsyncIterator() -> Iterator { Iterator(images: self) }

    /// Makes one image after the other.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let images: Images
      private var made = 0
      private var hasFailed = false

      init(images: Images) { self.images = images }

      /// Makes the next image; nil after the last one.
      ///
      /// - Throws: ``ImageCreator/Error``; the sequence is over then.
      public mutating func next() async throws(ImageCreator.Error) -> CreatedImage? {
        try await next(isolation: nil)
      }

      /// Makes the next image; nil after the last one.
      ///
      /// - Throws: ``ImageCreator/Error``; the sequence is over then.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(ImageCreator.Error) -> CreatedImage? {
        guard made < images.limit, !hasFailed else { return nil }
        do {
          guard !Task.isCancelled else { throw PlaygroundProblem.cancelled }
          guard images.isStyleAvailable else { throw PlaygroundProblem.failed("the style isn't available") }
          var request = images.request
          request.index = made
          let bitmap = try await images.system.image(request)
          made += 1
          return CreatedImage(bitmap: bitmap)
        } catch {
          hasFailed = true
          throw ImageCreator.Error(ImagePlaygroundSystem.problem(error))
        }
      }
    }
  }
}
