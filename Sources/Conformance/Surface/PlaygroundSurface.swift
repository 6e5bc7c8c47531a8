public import Foundation
public import Tensors

/// The values that checks of Image Playground and ImageCreator speak in, with no SDK's own types.
public enum PlaygroundSurface {
  /// What an implementation may lack; a check that needs it is then skipped.
  public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    /// Drawings as concepts.
    case drawings
    /// A provider of images beside the system's own.
    case externalProvider
    /// People of a library.
    case people
    /// A limit of images that the system keeps.
    case usageLimit
    /// `ImageCreator`.
    case creator
    /// Its engine's requests can be seen, so that prompts and start images can be judged.
    case visibleRequests
  }

  /// A point of a drawing on a canvas of 100 x 100.
  public struct Point: Sendable, Hashable {
    /// From the left.
    public var x: Double
    /// From the top.
    public var y: Double
    /// Width of the line.
    public var width: Double
    /// 0...1.
    public var opacity: Double
    /// Makes a point.
    public init(x: Double, y: Double, width: Double, opacity: Double) {
      self.x = x
      self.y = y
      self.width = width
      self.opacity = opacity
    }
  }

  /// A part of what an image shows.
  public enum Concept: Sendable, Hashable {
    case text(String)
    case extracted(String, title: String?)
    /// Strokes in black.
    case drawing([[Point]])
    case image(Bitmap)
  }

  /// Whether people may be included.
  public enum Personalization: String, Sendable, Hashable, CaseIterable { case automatic, enabled, disabled }

  /// What affects how images are made; nil sets nothing.
  public struct Options: Sendable, Hashable {
    /// Whether people may be included.
    public var personalization: Personalization?
    /// Width and height for `closest(to:)`.
    public var size: CGSize?
    /// Makes options that set nothing.
    public init() {}
  }

  /// What the sheet is presented with; nil sets nothing.
  public struct Presentation: Sendable, Hashable {
    /// Where the person starts.
    public var concepts: [Concept] = []
    /// An image to start from.
    public var sourceImage: Bitmap?
    /// Size and personalization.
    public var options = Options()
    /// Identifier of the style that the picker opens on.
    public var defaultStyle: String?
    /// Identifiers of the styles of the picker.
    public var allowedStyles: [String]?
    /// Makes an empty presentation.
    public init() {}
  }

  /// A person of the library.
  public struct Person: Sendable, Hashable {
    /// The name.
    public var name: String
    /// What they look like; nil when nobody has said.
    public var appearance: String?
    /// Makes a person.
    public init(name: String, appearance: String?) {
      self.name = name
      self.appearance = appearance
    }
  }

  /// What an implementation is made in.
  public struct Environment: Sendable {
    /// The device can.
    public var isDeviceCapable = true
    /// Language and region are supported.
    public var isRegionSupported = true
    /// The person has it on.
    public var isEnabledByUser = true
    /// The app is in the background.
    public var isInBackground = false
    /// Images are made on servers.
    public var isMadeOnServers = false
    /// There's a network.
    public var isOnline = true
    /// A model is there.
    public var hasModel = true
    /// This version of the system has `ImageCreator`.
    public var offersCreator = true
    /// The most images; nil is no limit.
    public var usageLimit: Int?
    /// The library.
    public var people: [Person] = []
    /// Side of the face that's found in every image; nil finds none.
    public var faceSide: Int?
    /// The provider that the person has configured: makes an image of a prompt.
    public var externalProvider: (@Sendable (String) async throws -> Bitmap)?
    /// The provider that the person sets up when they're led there.
    public var providerToSetUp: (@Sendable (String) async throws -> Bitmap)?
    /// Makes an environment in which everything can be done.
    public init() {}
  }

  /// A glyph.
  public struct Glyph: Sendable, Hashable {
    /// The picture as a file.
    public var png: Data
    /// What it shows.
    public var description: String
    /// Makes a glyph.
    public init(png: Data, description: String) {
      self.png = png
      self.description = description
    }
  }

  /// What an app is told.
  public enum Told: Sendable, Hashable {
    /// `onCompletion`.
    case file(URL)
    /// `onAdaptiveImageGlyphCreation`.
    case glyph(Glyph)
    /// `onCancellation`.
    case cancelled
  }

  /// What the sheet shows.
  public enum State: String, Sendable, Hashable, CaseIterable {
    case editing, generating, showing, failed, usageLimitReached, settingUpProvider, accepted, cancelled
  }

  /// The errors of `ImageCreator`.
  public enum CreatorError: String, Sendable, Hashable, CaseIterable {
    case notSupported, unavailable, creationCancelled, faceInImageTooSmall, unsupportedLanguage, unsupportedInputImage,
      backgroundCreationForbidden, creationFailed, conceptsRequirePersonIdentity
  }
}

/// What is judged: the adapter of an SDK with Image Playground's API.
///
/// Each member calls the SDK and translates values, nothing else. Styles are told by their identifiers.
public protocol PlaygroundImplementation: Sendable {
  /// What it doesn't lack.
  var capabilities: Set<PlaygroundSurface.Capability> { get }
  /// Whether an app may show the sheet: `supportsImagePlayground`.
  var isAvailable: Bool { get async }
  /// The sizes that images can have.
  var supportedSizes: [CGSize] { get }
  /// The size of options that set none.
  var defaultSize: CGSize { get }
  /// `closest(to:)`; nil when it refuses the size.
  func closestSize(to size: CGSize) -> CGSize?
  /// The identifiers of the documented styles by their names: animation, illustration, sketch, emoji, externalProvider.
  var styles: [String: String] { get }
  /// Encodes a style as JSON.
  func encoded(style: String) throws -> Data
  /// Decodes a style.
  func decodedStyle(_ json: Data) throws -> String
  /// Whether personalization is on in options that set nothing.
  var isPersonalizedByDefault: Bool { get }
  /// Whether an image concept comes of a URL.
  func hasImageConcept(of url: URL) -> Bool
  /// Whether an image concept comes of pixels.
  func hasImageConcept(of bitmap: Bitmap) -> Bool

  /// Presents the sheet; nil when it doesn't appear.
  ///
  /// - Parameter told: Runs in the very call of the app's handlers.
  func present(
    _ presentation: PlaygroundSurface.Presentation, told: @escaping @Sendable (PlaygroundSurface.Told) -> Void
  ) async throws -> (any PlaygroundSessionImplementation)?

  /// `ImageCreator()`; throws what it throws.
  func makeCreator() async throws -> any PlaygroundCreatorImplementation
  /// An error of `ImageCreator` by its case; nil when it's none of the documented ones.
  func creatorError(of error: any Error) -> PlaygroundSurface.CreatorError?
}

/// A sheet that is presented: what a person sees and does.
public protocol PlaygroundSessionImplementation: Sendable {
  /// What it shows.
  var state: PlaygroundSurface.State { get async }
  /// The styles of the picker.
  var offeredStyles: [String] { get async }
  /// Whether the picker has one style only.
  var isStyleLocked: Bool { get async }
  /// The style of the next image.
  var selectedStyle: String { get async }
  /// Whether people can be picked.
  var offersPeople: Bool { get async }
  /// Names that were found in the description.
  var detectedNames: [String] { get async }
  /// Types a description.
  func type(_ text: String) async
  /// Picks a style; throws when it isn't offered.
  func pick(_ style: String) async throws
  /// Replaces the image to start from.
  func replaceSourceImage(_ image: Bitmap?) async
  /// Makes an image.
  func generate() async
  /// Finishes setting up the environment's provider.
  func finishProviderSetup() async
  /// Accepts the image; throws when there's none.
  func accept() async throws
  /// Leaves.
  func cancel() async
  /// The session's end: what is temporary goes.
  func end() async
}

/// An `ImageCreator`.
public protocol PlaygroundCreatorImplementation: Sendable {
  /// `availableStyles`.
  var availableStyles: [String] { get }
  /// `images(for:style:limit:)`; each call of the closure awaits the next image, nil is the end.
  func images(for concepts: [PlaygroundSurface.Concept], style: String, limit: Int) -> @Sendable () async throws -> Bitmap?
}

/// What an implementation of Image Playground stands on.
public struct PlaygroundSurroundings: SurfaceSurroundings {
  /// Makes an implementation over a scripted engine.
  public typealias Make =
    @Sendable (ScriptedBackend, PlaygroundSurface.Environment) async throws -> any PlaygroundImplementation

  /// How it's made.
  public enum Making: Sendable {
    /// Over an engine that follows a script.
    case scripted(Make)
    /// Over an engine that computes, of a name.
    case engine(String, @Sendable () async throws -> any PlaygroundImplementation)
  }

  /// How it's made.
  public var making: Making
  /// Makes surroundings.
  public init(_ making: Making) { self.making = making }

  /// Image Playground.
  public var kind: SurfaceKind { .playground }
  /// Where its checks run.
  public var world: Check.World {
    switch making {
    case .scripted: .scripted
    case .engine: .engine
    }
  }
  /// What it stands on.
  public var foundation: String {
    switch making {
    case .scripted: "script"
    case .engine(let name, _): name
    }
  }
}
