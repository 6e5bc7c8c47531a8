/// The values that checks of TSAI image generation speak in: the shape of the documented API, with no SDK's own types.
public enum TSAISurface: APISurface {
  /// Which API it is.
  public static let kind = SurfaceKind.tsai
  /// Its place in ``AnySubject``.
  public static var slot: any WritableKeyPath<AnySubject, Subject<TSAISurface>?> & Sendable { \.tsai }

  /// What an SDK can do beyond the documented minimum.
  public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    /// All pending tasks can be cancelled with one call.
    case cancelAllTasks
    /// Its context can be deactivated, and replaced by another one.
    case activation
    /// Its provider can be replaced by another one.
    case providerSwitch
    /// It runs completions and calls of its provider on the queues that it's given.
    case controlledQueues
  }

  /// A style that can be chosen.
  public struct Style: Sendable, Hashable {
    /// Display name.
    public var name: String
    /// Stable identifier.
    public var identifier: String
    /// Makes a style.
    public init(name: String, identifier: String) {
      self.name = name
      self.identifier = identifier
    }
  }

  /// The language of a prompt.
  public enum Language: Sendable, Hashable {
    /// Not set.
    case unknown
    /// To be detected.
    case auto
    /// One by its tag: `en-US`.
    case tag(String)
  }

  /// How images are made; nil sets nothing.
  public struct Config: Sendable, Hashable {
    /// A style.
    public var styleIdentifier: String?
    /// Images to make.
    public var imageCount: Int?
    /// Pixels in a row.
    public var width: Double
    /// Rows.
    public var height: Double
    /// The language of the prompt.
    public var language: Language?
    /// Makes a configuration of a size alone.
    public init(width: Double, height: Double) {
      self.width = width
      self.height = height
    }
  }

  /// An image, with the SDK's own object.
  public struct Image: Sendable {
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The SDK's object; a weak reference to it tells whether somebody still holds it.
    public var object: any AnyObject & Sendable
    /// Makes an image.
    public init(width: Int, height: Int, object: any AnyObject & Sendable) {
      self.width = width
      self.height = height
      self.object = object
    }
  }

  /// What a generation gives.
  public struct Result: Sendable {
    /// The identifier in the result.
    public var taskId: String
    /// The images.
    public var images: [Image]
    /// Makes a result.
    public init(taskId: String, images: [Image]) {
      self.taskId = taskId
      self.images = images
    }
  }

  /// The documented codes.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    case invalidParameter = 1001
    case notSupported = 1002
    case contextInactive = 1003
    case providerUnavailable = 1004
    case bridgeUnavailable = 1005
    case activationSuperseded = 1006
    case busy = 1007
    case cancelled = 1008
    case authorizationRequired = 1009
    case taskFailed = 1010
    case contentRejected = 1011
    case timeout = 1012
    case networkUnavailable = 1013
    case invalidResponse = 1014
  }

  /// An error, by its code.
  public typealias Failure = Conformance.Failure<Code>

  /// What a completion of a fetch is.
  public typealias StylesCompletion = @Sendable (_ styles: [Style]?, _ failure: Failure?) -> Void
  /// What a completion of a generation is.
  public typealias Completion = @Sendable (_ result: Result?, _ failure: Failure?) -> Void
}
