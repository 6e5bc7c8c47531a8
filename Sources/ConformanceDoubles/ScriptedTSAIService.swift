public import Conformance
import Synchronization
import Tensors

/// A provider of images without images: it answers when a check says so, what a check says, and as often.
///
/// Adapters hand it what their SDK asks of a provider.
public final class ScriptedTSAIService: ScriptedTSAIProvider {
  private struct State {
    var isSupported = true
    var maximumImageCount = 4
    var styles = TSAISurface.usualStyles
    var answersFetches = true
    var answersTasks = true
    var fetches: [TSAISurface.PendingFetch] = []
    var tasks: [TSAISurface.PendingTask] = []
    var cancelled: [String] = []
    var cancelAllCount = 0
    var hidesCancels = false
    var gate: Gate?
    var isClosed = false
    var onTask: (@Sendable (TSAISurface.PendingTask) -> Void)?
    var onAnswer: (@Sendable (String, Result<TSAISurface.Answer, TSAISurface.Failure>) -> Void)?
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let log: EvidenceLog
  private let state = Mutex(State())

  /// Makes a service that answers at once.
  public init(log: EvidenceLog = EvidenceLog()) { self.log = log }

  // MARK: - For adapters

  /// Whether images can be made at all.
  public var isSupported: Bool {
    get { state.withLock { $0.isSupported } }
    set { state.withLock { $0.isSupported = newValue } }
  }
  /// The most images of one request.
  public var maximumImageCount: Int {
    get { state.withLock { $0.maximumImageCount } }
    set { state.withLock { $0.maximumImageCount = newValue } }
  }

  /// Takes a fetch of styles.
  public func fetchStyles(reply: @escaping @Sendable (Result<[TSAISurface.Style], TSAISurface.Failure>) -> Void) {
    log.note("provider: fetch of styles")
    let fetch = TSAISurface.PendingFetch(reply: reply)
    let (styles, gate, waiters) = state.withLock { state in
      state.fetches.append(fetch)
      defer { state.waiters = [] }
      return (state.answersFetches ? state.styles : nil, state.gate, state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    gate?.passBlocking()
    if let styles { fetch.answer(styles) }
  }

  /// Takes a task.
  public func generateImages(
    _ request: TSAISurface.Request, reply: @escaping @Sendable (Result<TSAISurface.Answer, TSAISurface.Failure>) -> Void
  ) {
    log.note("provider: task '\(request.prompt.prefix(30))', \(request.imageCount) of \(request.width)x\(request.height)")
    let task = TSAISurface.PendingTask(request: request, picture: Self.picture) { [self] answer in
      state.withLock { $0.onAnswer }?(request.taskId, answer)
      reply(answer)
    }
    let (answers, gate, onTask, waiters) = state.withLock { state in
      state.tasks.append(task)
      defer { state.waiters = [] }
      return (state.answersTasks, state.gate, state.onTask, state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    gate?.passBlocking()
    onTask?(task)
    if answers { task.answer() }
  }

  /// Hears that a task was cancelled, and works on.
  public func cancel(taskId: String) {
    log.note("provider: cancel of a task")
    note { if !$0.hidesCancels { $0.cancelled.append(taskId) } }
  }

  /// Hears that all tasks were cancelled, and works on.
  public func cancelAllTasks() {
    log.note("provider: cancel of all tasks")
    note { if !$0.hidesCancels { $0.cancelAllCount += 1 } }
  }

  private static func picture(_ request: TSAISurface.Request, _ index: Int) -> Bitmap {
    ScriptedImage.pattern(
      seed: ScriptedImage.hash([request.prompt, "\(index)"]), width: request.width, height: request.height)
  }

  private func note(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  // MARK: - For checks

  /// The styles that it answers with.
  public var styles: [TSAISurface.Style] {
    get { state.withLock { $0.styles } }
    set { state.withLock { $0.styles = newValue } }
  }
  /// Makes fetches wait for their answers.
  public func holdFetches() { state.withLock { $0.answersFetches = false } }
  /// Makes tasks wait for their answers.
  public func holdTasks() { state.withLock { $0.answersTasks = false } }
  /// Makes each call of the provider hold its thread until the gate opens.
  public func block(with gate: Gate) { state.withLock { $0.gate = gate } }
  /// Does something with each task that comes.
  public func onTask(_ action: @escaping @Sendable (TSAISurface.PendingTask) -> Void) { state.withLock { $0.onTask = action } }
  /// All fetches that came.
  public var fetches: [TSAISurface.PendingFetch] { state.withLock { $0.fetches } }
  /// All tasks that came.
  public var tasks: [TSAISurface.PendingTask] { state.withLock { $0.tasks } }
  /// Tasks whose cancelling it heard of.
  public var cancelled: [String] { state.withLock { $0.cancelled } }
  /// How often it heard that everything was cancelled.
  public var cancelAllCount: Int { state.withLock { $0.cancelAllCount } }

  /// Waits until something is the case; looked at after each call of the provider.
  public func reaches(_ condition: @Sendable (any ScriptedTSAIProvider) -> Bool) async {
    while !condition(self), !state.withLock({ $0.isClosed }) {
      await withCheckedContinuation { continuation in
        state.withLock { $0.waiters.append(continuation) }
        if condition(self) { wakeAll() }
      }
    }
  }

  private func wakeAll() { note { _ in } }

  /// Lets go of everyone who still waits.
  public func close() {
    note { $0.isClosed = true }
    gate?.open()
  }

  /// Makes another one, which notes in the same log.
  public func makeAnother() -> any ScriptedTSAIProvider { ScriptedTSAIService(log: log) }

  // MARK: - For faulty implementations

  /// Makes it deaf to cancels.
  public func hideCancels() { state.withLock { $0.hidesCancels = true } }
  /// Sees each answer before the SDK does.
  public func onAnswer(_ action: @escaping @Sendable (String, Result<TSAISurface.Answer, TSAISurface.Failure>) -> Void) {
    state.withLock { $0.onAnswer = action }
  }
  /// The gate that holds the provider's threads.
  public var gate: Gate? { state.withLock { $0.gate } }
}
