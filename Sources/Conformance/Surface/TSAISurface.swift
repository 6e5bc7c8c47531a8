/// The values that checks of TSAI image generation speak in: the shape of the documented API, with no SDK's own types.
public enum TSAISurface {
  /// What an implementation may lack; a check that needs it is then skipped.
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

  /// An error, translated from its code alone.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The code; nil when it's none of the documented ones.
    public var code: Code?
    /// The message.
    public var message: String
    /// Makes a failure.
    public init(_ code: Code?, message: String = "") {
      self.code = code
      self.message = message
    }
    /// The code and the message.
    public var description: String { "\(code.map { "\($0)" } ?? "an undocumented code") \(message)" }
  }

  /// What a completion of a fetch is.
  public typealias StylesCompletion = @Sendable (_ styles: [Style]?, _ failure: Failure?) -> Void
  /// What a completion of a generation is.
  public typealias Completion = @Sendable (_ result: Result?, _ failure: Failure?) -> Void
}

/// What is judged: the adapter of an SDK with TSAI's image generation.
///
/// Each member calls the SDK and translates values, nothing else. Completions are handed on in the very call and on the very
/// thread in which the SDK runs them. When it's made, its context is active and its provider set.
public protocol TSAIImplementation: Sendable {
  /// What it doesn't lack.
  var capabilities: Set<TSAISurface.Capability> { get }
  /// What the app's own localization is, which stands for the language `unknown`.
  var appLanguage: TSAISurface.Language { get }

  /// `supportsAIFeatures` of image generation.
  var supportsImageGeneration: Bool { get }
  /// `maximumImageCount`.
  var maximumImageCount: Int { get }
  /// `availableStyles`.
  var availableStyles: [TSAISurface.Style]? { get }
  /// `fetchAvailableStyles`.
  func fetchAvailableStyles(completion: TSAISurface.StylesCompletion?)
  /// What the documented factory of configurations makes.
  func factoryConfig(styleIdentifier: String?, width: Double, height: Double) -> TSAISurface.Config
  /// `generateImages`.
  ///
  /// - Parameter changed: What the caller's own configuration object is changed to right after the call; nil leaves it.
  func generateImages(
    prompt: String, config: TSAISurface.Config, thenChanging changed: TSAISurface.Config?,
    completion: TSAISurface.Completion?
  ) -> String
  /// `cancelImageGeneration`.
  func cancelImageGeneration(taskId: String)

  /// Cancels everything that is pending.
  func cancelAllTasks()
  /// Deactivates the context.
  func deactivate()
  /// Activates another context in its place.
  func activateAnother()
  /// Replaces the provider.
  func switchProvider(to service: ScriptedTSAIService)
}

extension TSAIImplementation {
  /// `generateImages`, without a change of the configuration afterwards.
  public func generateImages(prompt: String, config: TSAISurface.Config, completion: TSAISurface.Completion?) -> String {
    generateImages(prompt: prompt, config: config, thenChanging: nil, completion: completion)
  }
}

/// What an implementation of TSAI image generation stands on.
public struct TSAISurroundings: SurfaceSurroundings {
  /// How it's made.
  public enum Making: Sendable {
    /// Over a service that follows a script; with queues of its own when there's no scheduler.
    case scripted(@Sendable (ScriptedTSAIService, SeededScheduler?) -> any TSAIImplementation)
    /// Over an engine that computes, of a name.
    case engine(String, @Sendable () async throws -> any TSAIImplementation)
  }

  /// How it's made.
  public var making: Making
  /// Makes surroundings.
  public init(_ making: Making) { self.making = making }

  /// TSAI.
  public var kind: SurfaceKind { .tsai }
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
