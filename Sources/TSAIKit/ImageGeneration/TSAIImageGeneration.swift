import Foundation
import Synchronization

/// The image generation of a context: who waits for what, and what they're told.
///
/// Every pending completion stands in a table until it runs. What it's told may change until that very moment (a cancel takes
/// the place of a result that has come but wasn't delivered); who takes it out of the table runs it, so it runs once.
final class TSAIImageGeneration: TSAIImageGenerationInterface {
  private struct Pending<Value: Sendable>: Sendable {
    var completion: (@MainActor @Sendable (Value?, TSAIError?) -> Void)?
    /// What it'll be told; nil while the provider is at work.
    var outcome: Result<Value, TSAIError>?
    /// Whether the provider knows of it.
    var isWithProvider = false
    /// Its place among all tasks.
    var number = 0
  }

  private struct State {
    var isActive = false
    var provider: (any TSAIImageGenerationProvider)?
    var snapshot: [TSAIImageGenerationStyle]?
    /// The fetch that the snapshot is of, so that an older answer doesn't replace a newer one.
    var snapshotFetch = 0
    var lastFetch = 0
    var lastTask = 0
    var fetches: [Int: Pending<[TSAIImageGenerationStyle]>] = [:]
    var tasks: [String: Pending<TSAIImageGenerationResult>] = [:]
  }

  private let isOffered: Bool
  private let appLanguage: TSAILanguage
  private let queues: TSAIQueues
  private let state: Mutex<State>

  init(isOffered: Bool, provider: (any TSAIImageGenerationProvider)?, appLanguage: TSAILanguage, queues: TSAIQueues) {
    self.isOffered = isOffered
    self.appLanguage = appLanguage
    self.queues = queues
    state = Mutex(State(provider: provider))
  }

  // MARK: - What there is

  var availableStyles: [TSAIImageGenerationStyle]? { state.withLock { $0.snapshot } }

  var maximumImageCount: Int { limit(of: state.withLock { $0.provider }) }

  private func limit(of provider: (any TSAIImageGenerationProvider)?) -> Int {
    guard isOffered, let provider, provider.isSupported else { return 0 }
    return max(0, provider.maximumImageCount)
  }

  /// The provider and its limit, or why there's none.
  private func requireProvider() throws(TSAIError) -> (provider: any TSAIImageGenerationProvider, limit: Int) {
    let (isActive, provider) = state.withLock { ($0.isActive, $0.provider) }
    guard isActive else { throw TSAIError(.contextInactive, "the context isn't active; activate it first") }
    guard isOffered else { throw TSAIError(.notSupported, "the context offers no image generation") }
    guard let provider else { throw TSAIError(.providerUnavailable, "the context has no provider of images") }
    let limit = limit(of: provider)
    guard limit > 0 else { throw TSAIError(.notSupported, "the provider makes no images") }
    return (provider, limit)
  }

  // MARK: - Styles

  func fetchAvailableStyles(completion: TSAIImageGenerationStylesCompletionBlock?) {
    let number = state.withLock { state in
      state.lastFetch += 1
      state.fetches[state.lastFetch] = Pending(completion: completion)
      return state.lastFetch
    }
    let provider: any TSAIImageGenerationProvider
    do {
      provider = try requireProvider().provider
    } catch {
      return settle(fetch: number, .failure(error))
    }
    let reply = ReplyOnce<[TSAIImageGenerationStyle]> { [self] answer in
      settle(fetch: number, TSAIImageGenerationRules.accepted(answer))
    }
    queues.provider { [self] in
      let isWanted = state.withLock { state in
        guard state.fetches[number]?.outcome == nil, state.fetches[number] != nil else { return false }
        state.fetches[number]?.isWithProvider = true
        return true
      }
      if isWanted { provider.fetchStyles { reply.give($0) } }
    }
  }

  /// Decides a fetch that isn't decided yet.
  private func settle(fetch number: Int, _ outcome: Result<[TSAIImageGenerationStyle], TSAIError>) {
    let isFirst = state.withLock { state in
      guard let pending = state.fetches[number], pending.outcome == nil else { return false }
      state.fetches[number]?.outcome = outcome
      if case .success(let styles) = outcome, number > state.snapshotFetch {
        state.snapshot = styles
        state.snapshotFetch = number
      }
      return true
    }
    if isFirst { deliver(fetch: number) }
  }

  private func deliver(fetch number: Int) {
    queues.completion { [self] in
      guard let pending = state.withLock({ $0.fetches.removeValue(forKey: number) }) else { return }
      Self.run(pending)
    }
  }

  // MARK: - Images

  func generateImages(
    prompt: String, config: TSAIImageGenerationConfig, completion: TSAIImageGenerationCompletionBlock?
  ) -> String {
    let taskId = UUID().uuidString
    state.withLock { state in
      state.lastTask += 1
      state.tasks[taskId] = Pending(completion: completion, number: state.lastTask)
    }
    let (provider, request): (any TSAIImageGenerationProvider, TSAIImageGenerationRequest)
    do {
      let (able, limit) = try requireProvider()
      provider = able
      request = try TSAIImageGenerationRules.request(
        taskId: taskId, prompt: prompt, config: config, limit: limit, snapshot: availableStyles, appLanguage: appLanguage)
    } catch {
      settle(task: taskId, .failure(error))
      return taskId
    }
    let reply = ReplyOnce<TSAIImageGenerationResult> { [self] answer in
      settle(task: taskId, TSAIImageGenerationRules.accepted(answer, request: request))
    }
    queues.provider { [self] in
      let isWanted = state.withLock { state in
        guard state.tasks[taskId] != nil, state.tasks[taskId]?.outcome == nil else { return false }
        state.tasks[taskId]?.isWithProvider = true
        return true
      }
      if isWanted { provider.generateImages(request) { reply.give($0) } }
    }
    return taskId
  }

  /// Decides a task that isn't decided yet.
  private func settle(task taskId: String, _ outcome: Result<TSAIImageGenerationResult, TSAIError>) {
    let isFirst = state.withLock { state in
      guard let pending = state.tasks[taskId], pending.outcome == nil else { return false }
      state.tasks[taskId]?.outcome = outcome
      return true
    }
    if isFirst { deliver(task: taskId) }
  }

  private func deliver(task taskId: String) {
    queues.completion { [self] in
      guard let pending = state.withLock({ $0.tasks.removeValue(forKey: taskId) }) else { return }
      Self.run(pending)
    }
  }

  @MainActor private static func run<Value>(_ pending: Pending<Value>) {
    switch pending.outcome {
    case .success(let value): pending.completion?(value, nil)
    case .failure(let error): pending.completion?(nil, error)
    case nil: pending.completion?(nil, TSAIError(.taskFailed, "the task ended without an outcome"))
    }
  }

  // MARK: - Cancelling

  func cancelImageGeneration(taskId: String) {
    let (isFirst, provider) = state.withLock { state -> (Bool, (any TSAIImageGenerationProvider)?) in
      guard let pending = state.tasks[taskId] else { return (false, nil) }
      // Also in place of a result that has come but wasn't delivered: after this call nobody sees it.
      state.tasks[taskId]?.outcome = .failure(TSAIError(.cancelled, "the task was cancelled"))
      let isAtWork = pending.outcome == nil
      return (isAtWork, isAtWork && pending.isWithProvider ? state.provider : nil)
    }
    if let provider { queues.provider { provider.cancel(taskId: taskId) } }
    if isFirst { deliver(task: taskId) }
  }

  func cancelAllTasks() { endAll(TSAIError(.cancelled, "all tasks were cancelled")) { _ in } }

  func begin() { state.withLock { $0.isActive = true } }

  func end(with error: TSAIError) { endAll(error) { $0.isActive = false } }

  func setProvider(_ provider: (any TSAIImageGenerationProvider)?) {
    endAll(TSAIError(.activationSuperseded, "another provider has taken over")) { $0.provider = provider }
  }

  /// Decides all that is pending, forgets the snapshot, and tells the provider.
  private func endAll(_ error: TSAIError, _ change: (inout State) -> Void) {
    let (provider, fetches, tasks) = state.withLock { state in
      let provider = state.provider
      let fetches = state.fetches.filter { $0.value.outcome == nil }.map(\.key).sorted()
      let tasks = state.tasks.filter { $0.value.outcome == nil }.sorted { $0.value.number < $1.value.number }.map(\.key)
      for number in Array(state.fetches.keys) { state.fetches[number]?.outcome = .failure(error) }
      for taskId in Array(state.tasks.keys) { state.tasks[taskId]?.outcome = .failure(error) }
      state.snapshot = nil
      change(&state)
      return (provider, fetches, tasks)
    }
    if let provider, !(fetches.isEmpty && tasks.isEmpty) { queues.provider { provider.cancelAllTasks() } }
    for number in fetches { deliver(fetch: number) }
    for taskId in tasks { deliver(task: taskId) }
  }
}

/// A reply that counts once, and fails when nobody gives it.
private final class ReplyOnce<Value: Sendable>: Sendable {
  private let receive: @Sendable (Result<Value, any Error>) -> Void
  private let isGiven = Atomic<Bool>(false)

  init(_ receive: @escaping @Sendable (Result<Value, any Error>) -> Void) { self.receive = receive }

  func give(_ answer: Result<Value, any Error>) {
    if !isGiven.exchange(true, ordering: .acquiringAndReleasing) { receive(answer) }
  }

  deinit {
    if !isGiven.load(ordering: .acquiring) {
      receive(.failure(TSAIError(.taskFailed, "the provider let go of the task without an answer")))
    }
  }
}
