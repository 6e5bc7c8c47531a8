/// What is judged by the group T: an SDK's image generation in TSAI's shape, written by its owner.
///
/// Completions are handed on in the very call and on the very thread in which the SDK runs them. When it's made, its context
/// is active and its provider set.
public struct TSAIImplementation: SurfaceImplementation {
  /// What the SDK can do beyond the documented minimum.
  public var capabilities: Set<TSAISurface.Capability>
  /// What the app's own localization is, which stands for the language `unknown`.
  public var appLanguage: TSAISurface.Language
  /// `supportsAIFeatures` of image generation.
  public var supportsImageGeneration: @Sendable () -> Bool
  /// `maximumImageCount`.
  public var maximumImageCount: @Sendable () -> Int
  /// `availableStyles`.
  public var availableStyles: @Sendable () -> [TSAISurface.Style]?
  /// `fetchAvailableStyles`.
  public var fetchAvailableStyles: @Sendable (TSAISurface.StylesCompletion?) -> Void
  /// What the documented factory of configurations makes.
  public var factoryConfig: @Sendable (_ styleIdentifier: String?, _ width: Double, _ height: Double) -> TSAISurface.Config
  /// `generateImages`; `changed` is what the caller's own configuration object is changed to right after the call, nil leaves it.
  public var generateImages:
    @Sendable (_ prompt: String, TSAISurface.Config, _ changed: TSAISurface.Config?, TSAISurface.Completion?) -> String
  /// `cancelImageGeneration`.
  public var cancelImageGeneration: @Sendable (_ taskId: String) -> Void
  /// Cancels everything that is pending.
  public var cancelAllTasks: @Sendable () -> Void
  /// Deactivates the context.
  public var deactivate: @Sendable () -> Void
  /// Activates another context in its place.
  public var activateAnother: @Sendable () -> Void
  /// Replaces the provider.
  public var switchProvider: @Sendable (any ScriptedTSAIProvider) -> Void

  /// Makes an implementation.
  public init(
    capabilities: Set<TSAISurface.Capability>,
    appLanguage: TSAISurface.Language,
    supportsImageGeneration: @escaping @Sendable () -> Bool,
    maximumImageCount: @escaping @Sendable () -> Int,
    availableStyles: @escaping @Sendable () -> [TSAISurface.Style]?,
    fetchAvailableStyles: @escaping @Sendable (TSAISurface.StylesCompletion?) -> Void,
    factoryConfig: @escaping @Sendable (_ styleIdentifier: String?, _ width: Double, _ height: Double) -> TSAISurface.Config,
    generateImages:
      @escaping @Sendable (_ prompt: String, TSAISurface.Config, _ changed: TSAISurface.Config?, TSAISurface.Completion?) ->
      String,
    cancelImageGeneration: @escaping @Sendable (_ taskId: String) -> Void,
    cancelAllTasks: @escaping @Sendable () -> Void,
    deactivate: @escaping @Sendable () -> Void,
    activateAnother: @escaping @Sendable () -> Void,
    switchProvider: @escaping @Sendable (any ScriptedTSAIProvider) -> Void
  ) {
    self.capabilities = capabilities
    self.appLanguage = appLanguage
    self.supportsImageGeneration = supportsImageGeneration
    self.maximumImageCount = maximumImageCount
    self.availableStyles = availableStyles
    self.fetchAvailableStyles = fetchAvailableStyles
    self.factoryConfig = factoryConfig
    self.generateImages = generateImages
    self.cancelImageGeneration = cancelImageGeneration
    self.cancelAllTasks = cancelAllTasks
    self.deactivate = deactivate
    self.activateAnother = activateAnother
    self.switchProvider = switchProvider
  }
}
