/// Who makes the images; an app's adapter to a service or an engine.
///
/// A provider may answer late, twice, wrongly or never: the interface above sorts that out. ``fetchStyles(reply:)``,
/// ``generateImages(_:reply:)`` and ``cancel(taskId:)`` are called one at a time, in the order of the app's calls, and not on
/// the main thread. Replies may come on any thread; letting go of a reply without calling it fails the task.
public protocol TSAIImageGenerationProvider: Sendable {
  /// Whether images can be made at all; must answer at once.
  var isSupported: Bool { get }
  /// The most images of one request; must answer at once.
  var maximumImageCount: Int { get }
  /// Finds out the styles.
  func fetchStyles(reply: @escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void)
  /// Makes images.
  func generateImages(
    _ request: TSAIImageGenerationRequest, reply: @escaping @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void)
  /// Says that nobody waits for a task any more; it may be done already.
  func cancel(taskId: String)
  /// Says that nobody waits for anything any more.
  func cancelAllTasks()
}

extension TSAIImageGenerationProvider {
  /// Does nothing: the work goes on, and its result is dropped.
  public func cancel(taskId: String) {}
  /// Does nothing: the work goes on, and its results are dropped.
  public func cancelAllTasks() {}
}

/// What a provider is asked for; checked already.
public struct TSAIImageGenerationRequest: Sendable, Hashable {
  /// The task's identifier, which the result must carry.
  public let taskId: String
  /// What to show.
  public let prompt: String
  /// One of the provider's styles; nil leaves the choice to it.
  public let styleIdentifier: String?
  /// Images to make, 1...`maximumImageCount`.
  public let imageCount: Int
  /// Pixels in a row.
  public let width: Int
  /// Rows.
  public let height: Int
  /// The language of the prompt: neither `unknown` nor `auto`.
  public let language: TSAILanguage

  /// Makes a request.
  public init(
    taskId: String, prompt: String, styleIdentifier: String?, imageCount: Int, width: Int, height: Int, language: TSAILanguage
  ) {
    self.taskId = taskId
    self.prompt = prompt
    self.styleIdentifier = styleIdentifier
    self.imageCount = imageCount
    self.width = width
    self.height = height
    self.language = language
  }
}
