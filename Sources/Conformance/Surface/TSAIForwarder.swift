import Dispatch

/// An implementation of TSAI that does what another one does, but for what is changed; mutants are made of it.
struct TSAIForwarder: TSAIImplementation {
  typealias Fetch = @Sendable (TSAISurface.StylesCompletion?) -> Void
  typealias Generate =
    @Sendable (String, TSAISurface.Config, TSAISurface.Config?, TSAISurface.Completion?) -> String

  var capabilities: Set<TSAISurface.Capability>
  var appLanguage: TSAISurface.Language
  var onSupports: @Sendable () -> Bool
  var onLimit: @Sendable () -> Int
  var onStyles: @Sendable () -> [TSAISurface.Style]?
  var onFetch: Fetch
  var onFactory: @Sendable (String?, Double, Double) -> TSAISurface.Config
  var onGenerate: Generate
  var onCancel: @Sendable (String) -> Void
  var onCancelAll: @Sendable () -> Void
  var onDeactivate: @Sendable () -> Void
  var onActivateAnother: @Sendable () -> Void
  var onSwitch: @Sendable (ScriptedTSAIService) -> Void

  init(_ base: any TSAIImplementation) {
    capabilities = base.capabilities
    appLanguage = base.appLanguage
    onSupports = { base.supportsImageGeneration }
    onLimit = { base.maximumImageCount }
    onStyles = { base.availableStyles }
    onFetch = { base.fetchAvailableStyles(completion: $0) }
    onFactory = { base.factoryConfig(styleIdentifier: $0, width: $1, height: $2) }
    onGenerate = { base.generateImages(prompt: $0, config: $1, thenChanging: $2, completion: $3) }
    onCancel = { base.cancelImageGeneration(taskId: $0) }
    onCancelAll = { base.cancelAllTasks() }
    onDeactivate = { base.deactivate() }
    onActivateAnother = { base.activateAnother() }
    onSwitch = { base.switchProvider(to: $0) }
  }

  var supportsImageGeneration: Bool { onSupports() }
  var maximumImageCount: Int { onLimit() }
  var availableStyles: [TSAISurface.Style]? { onStyles() }
  func fetchAvailableStyles(completion: TSAISurface.StylesCompletion?) { onFetch(completion) }
  func factoryConfig(styleIdentifier: String?, width: Double, height: Double) -> TSAISurface.Config {
    onFactory(styleIdentifier, width, height)
  }
  func generateImages(
    prompt: String, config: TSAISurface.Config, thenChanging changed: TSAISurface.Config?, completion: TSAISurface.Completion?
  ) -> String { onGenerate(prompt, config, changed, completion) }
  func cancelImageGeneration(taskId: String) { onCancel(taskId) }
  func cancelAllTasks() { onCancelAll() }
  func deactivate() { onDeactivate() }
  func activateAnother() { onActivateAnother() }
  func switchProvider(to service: ScriptedTSAIService) { onSwitch(service) }

  // MARK: - Changes

  /// Changes the configuration before the call.
  func mappingConfig(_ change: @escaping @Sendable (inout TSAISurface.Config) -> Void) -> Self {
    var copy = self
    let inner = onGenerate
    copy.onGenerate = { prompt, config, changed, completion in
      var config = config
      change(&config)
      return inner(prompt, config, changed, completion)
    }
    return copy
  }

  /// Changes the completion of a generation; without one, nothing is changed.
  func mappingCompletion(_ change: @escaping @Sendable (@escaping TSAISurface.Completion) -> TSAISurface.Completion) -> Self {
    var copy = self
    let inner = onGenerate
    copy.onGenerate = { prompt, config, changed, completion in inner(prompt, config, changed, completion.map(change)) }
    return copy
  }

  /// Changes the completion of a fetch; without one, nothing is changed.
  func mappingStyles(_ change: @escaping @Sendable (@escaping TSAISurface.StylesCompletion) -> TSAISurface.StylesCompletion)
    -> Self
  {
    var copy = self
    let inner = onFetch
    copy.onFetch = { completion in inner(completion.map(change)) }
    return copy
  }

  /// Changes errors.
  func mappingFailures(_ change: @escaping @Sendable (TSAISurface.Failure) -> TSAISurface.Failure) -> Self {
    mappingCompletion { completion in { completion($0, $1.map(change)) } }
      .mappingStyles { completion in { completion($0, $1.map(change)) } }
  }
}

/// What stands around a mutant of TSAI.
struct TSAIMutantSurroundings: Sendable {
  var service: ScriptedTSAIService
  var scheduler: SeededScheduler?

  /// Runs something later on the main queue, or on the scheduler's lane for it.
  func postToMain(_ work: @escaping @Sendable () -> Void) {
    if let scheduler {
      scheduler.post("main", "mutant") { work() }
    } else {
      DispatchQueue.main.async(execute: work)
    }
  }
}

extension Mutant {
  /// Makes a mutant of an implementation of TSAI.
  init(
    tsai id: String, _ story: String, breaks: [String],
    change: @escaping @Sendable (inout TSAIForwarder, TSAIMutantSurroundings) -> Void
  ) {
    self.init(id, story, breaks: breaks, of: .tsai) { (surroundings: TSAISurroundings) in
      guard case .scripted(let make) = surroundings.making else { return surroundings }
      return TSAISurroundings(
        .scripted { service, scheduler in
          var forwarder = TSAIForwarder(make(service, scheduler))
          change(&forwarder, TSAIMutantSurroundings(service: service, scheduler: scheduler))
          return forwarder
        })
    }
  }
}
