public import Foundation
public import Tensors

/// The values that checks of Image Playground and ImageCreator speak in, with no SDK's own types.
public enum PlaygroundSurface: APISurface {
  /// Which API it is.
  public static let kind = SurfaceKind.playground
  /// Its place in ``AnySubject``.
  public static var slot: any WritableKeyPath<AnySubject, Subject<PlaygroundSurface>?> & Sendable { \.playground }
  /// An SDK's Image Playground.
  public typealias Implementation = PlaygroundImplementation
  /// An engine that follows a script.
  public typealias TestDouble = any ScriptedImageEngine
  /// The environment has nothing to say.
  public typealias Facts = NoFacts

  /// What an SDK can do beyond the documented minimum.
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

  /// The device, the person and the app that an implementation is made for.
  public struct Setup: Sendable {
    /// The engine to use; nil makes a fresh one.
    public var engine: TestDouble?
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
    /// Makes a setup in which everything can be done.
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

  /// A call of one of the app's handlers.
  public enum Callback: Sendable, Hashable {
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
