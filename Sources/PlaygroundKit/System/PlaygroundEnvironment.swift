public import Foundation
public import Tensors

/// What an app runs in, as far as it decides what images can be made: on a device the system's, here a value.
public struct PlaygroundEnvironment: Sendable {
  /// Where images are made.
  public enum ExecutionSite: String, Sendable, Hashable, Codable, CaseIterable {
    /// On the device; no network is needed.
    case onDevice
    /// On servers; without a network images are unavailable.
    case privateCloudCompute
  }

  /// A person of the library.
  public struct Person: Sendable, Hashable {
    /// The name that's looked for in texts.
    public var name: String
    /// What the person looks like, in words; nil when nobody has said who it is.
    public var appearance: String?

    /// Makes a person.
    public init(name: String, appearance: String? = nil) {
      self.name = name
      self.appearance = appearance
    }
  }

  /// The box of a face, in pixels.
  public struct Face: Sendable, Hashable {
    /// Width of the box.
    public var width: Int
    /// Height of the box.
    public var height: Int
    /// Makes a box.
    public init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  /// Whether the device has what it takes.
  public var isDeviceCapable = true
  /// The current language and region.
  public var locale: Locale
  /// Where images are offered.
  public var locales = PlaygroundLocales.usual
  /// Whether the person has image generation enabled.
  public var isEnabledByUser = true
  /// Whether the app is in the background, where no images are made.
  public var isInBackground = false
  /// Where images are made.
  public var executionSite = ExecutionSite.onDevice
  /// Whether there's a network.
  public var isNetworkReachable = true
  /// Whether this version of the system still has ``ImageCreator``.
  public var offersImageCreator = true
  /// The people of the library.
  public var people: [Person] = []
  /// Finds the faces of an image; nil finds none.
  public var faces: (@Sendable (Bitmap) -> [Face])?
  /// Smallest side of a face that an image of a person can be made from, in pixels.
  public var smallestFace = 64
  /// Smallest and largest side of an input image, in pixels.
  public var inputImageSides = 384...4096

  /// Makes an environment in which everything can be done.
  public init(locale: Locale = Locale(identifier: "en_US")) { self.locale = locale }

  /// Whether images can be made.
  public var availability: PlaygroundAvailability {
    PlaygroundAvailability(
      isDeviceCapable: isDeviceCapable, isLanguageAndRegionSupported: locales.supports(locale), isEnabledByUser: isEnabledByUser)
  }

  /// Whether the place where images are made can be reached.
  var isSiteReachable: Bool { executionSite == .onDevice || isNetworkReachable }
}
