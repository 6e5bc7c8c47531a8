public import Tensors

extension TSAISurface {
  /// An SDK's image generation.
  public typealias Implementation = TSAIImplementation
  /// A provider that follows a script.
  public typealias TestDouble = any ScriptedTSAIProvider
  /// The environment has nothing to say.
  public typealias Facts = NoFacts

  /// How an implementation is made for a check.
  public struct Setup: Sendable {
    /// Runs completions and calls of the provider; nil uses the usual queues.
    public var scheduler: SeededScheduler?
    /// Makes a setup.
    public init(scheduler: SeededScheduler? = nil) { self.scheduler = scheduler }
  }

  /// Styles that a scripted provider has unless told otherwise.
  public static let usualStyles = [Style(name: "Photo", identifier: "photo"), Style(name: "Sketch", identifier: "sketch")]

  /// What a provider was asked for.
  public struct Request: Sendable, Hashable {
    /// The task.
    public var taskId: String
    /// What to show.
    public var prompt: String
    /// The style.
    public var styleIdentifier: String?
    /// Images to make.
    public var imageCount: Int
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The language of the prompt.
    public var language: Language
    /// Makes a request.
    public init(
      taskId: String, prompt: String, styleIdentifier: String?, imageCount: Int, width: Int, height: Int,
      language: Language
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

  /// The images of a task, by the identifier that the answer carries.
  public struct Answer: Sendable {
    /// The identifier.
    public var taskId: String
    /// The pixels.
    public var images: [Bitmap]
    /// Makes an answer.
    public init(taskId: String, images: [Bitmap]) {
      self.taskId = taskId
      self.images = images
    }
  }

  /// A fetch of styles that waits for its answer.
  public struct PendingFetch: Sendable {
    private let reply: @Sendable (Swift.Result<[Style], Failure>) -> Void
    /// Makes a fetch.
    public init(reply: @escaping @Sendable (Swift.Result<[Style], Failure>) -> Void) { self.reply = reply }
    /// Answers; may be called again.
    public func answer(_ styles: [Style]) { reply(.success(styles)) }
    /// Fails.
    public func fail(_ code: Code) { reply(.failure(Failure(code, message: "the service says so"))) }
  }

  /// A task that waits for its answer.
  public struct PendingTask: Sendable {
    /// What was asked.
    public let request: Request
    private let picture: @Sendable (Request, Int) -> Bitmap
    private let reply: @Sendable (Swift.Result<Answer, Failure>) -> Void

    /// Makes a task; `picture` is the image of a number of a request.
    public init(
      request: Request, picture: @escaping @Sendable (Request, Int) -> Bitmap,
      reply: @escaping @Sendable (Swift.Result<Answer, Failure>) -> Void
    ) {
      self.request = request
      self.picture = picture
      self.reply = reply
    }

    /// Answers with images of the requested size; may be called again.
    ///
    /// - Parameters:
    ///   - count: Images; nil is as many as asked for.
    ///   - taskId: The identifier in the answer; nil is the right one.
    public func answer(count: Int? = nil, taskId: String? = nil) {
      let images = (0..<(count ?? request.imageCount)).map { picture(request, $0) }
      reply(.success(Answer(taskId: taskId ?? request.taskId, images: images)))
    }

    /// Fails.
    public func fail(_ code: Code) { reply(.failure(Failure(code, message: "the service says so"))) }
  }
}

/// A provider of images without images: it answers when a check says so, what a check says, and as often.
///
/// Adapters hand it what their SDK asks of a provider.
public protocol ScriptedTSAIProvider: AnyObject, Sendable {
  // For adapters.

  /// Whether images can be made at all.
  var isSupported: Bool { get set }
  /// The most images of one request.
  var maximumImageCount: Int { get set }
  /// Takes a fetch of styles.
  func fetchStyles(reply: @escaping @Sendable (Result<[TSAISurface.Style], TSAISurface.Failure>) -> Void)
  /// Takes a task.
  func generateImages(
    _ request: TSAISurface.Request, reply: @escaping @Sendable (Result<TSAISurface.Answer, TSAISurface.Failure>) -> Void)
  /// Hears that a task was cancelled, and works on.
  func cancel(taskId: String)
  /// Hears that all tasks were cancelled, and works on.
  func cancelAllTasks()

  // For checks.

  /// The styles that it answers with.
  var styles: [TSAISurface.Style] { get set }
  /// All fetches that came.
  var fetches: [TSAISurface.PendingFetch] { get }
  /// All tasks that came.
  var tasks: [TSAISurface.PendingTask] { get }
  /// Tasks whose cancelling it heard of.
  var cancelled: [String] { get }
  /// How often it heard that everything was cancelled.
  var cancelAllCount: Int { get }
  /// Makes fetches wait for their answers.
  func holdFetches()
  /// Makes tasks wait for their answers.
  func holdTasks()
  /// Makes each call of the provider hold its thread until the gate opens.
  func block(with gate: Gate)
  /// Does something with each task that comes.
  func onTask(_ action: @escaping @Sendable (TSAISurface.PendingTask) -> Void)
  /// Waits until something is the case; looked at after each call of the provider.
  func reaches(_ condition: @Sendable (any ScriptedTSAIProvider) -> Bool) async
  /// Makes another one, which notes in the same log.
  func makeAnother() -> any ScriptedTSAIProvider
  /// Lets go of everyone who still waits.
  func close()

  // For faulty implementations.

  /// Makes it deaf to cancels.
  func hideCancels()
  /// Sees each answer before the SDK does.
  func onAnswer(_ action: @escaping @Sendable (String, Result<TSAISurface.Answer, TSAISurface.Failure>) -> Void)
  /// The gate that holds the provider's threads.
  var gate: Gate? { get }
}
