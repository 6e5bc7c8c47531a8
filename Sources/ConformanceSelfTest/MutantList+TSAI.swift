import Conformance
import Dispatch
import Tensors

extension Mutant {
  /// Faulty implementations of TSAI.
  static let tsai: [Mutant] = tsaiStyles + tsaiImages + tsaiCancels

  // MARK: - Support and styles

  private static let tsaiStyles: [Mutant] = [
    Mutant(tsai: "supported-without-provider", "Support is told from the feature flag alone.", breaks: ["T-01"]) { mutant, _ in
      mutant.supportsImageGeneration = { true }
    },
    Mutant(tsai: "negative-limit-passed-on", "The limit of a provider that can't is still its number.", breaks: ["T-01"]) {
      mutant, context in
      mutant.maximumImageCount = { context.testDouble.maximumImageCount }
    },
    Mutant(tsai: "empty-before-fetch", "Styles are an empty array from the start.", breaks: ["T-02", "T-05", "T-34"]) {
      mutant, _ in
      let inner = mutant.availableStyles
      mutant.availableStyles = { inner() ?? [] }
    },
    Mutant(tsai: "empty-is-absent", "A known, empty list of styles is taken for none.", breaks: ["T-03", "T-04"]) { mutant, _ in
      let inner = mutant.availableStyles
      mutant.availableStyles = { inner().flatMap { $0.isEmpty ? nil : $0 } }
    },
    Mutant(tsai: "failure-clears-styles", "A failed fetch clears the snapshot.", breaks: ["T-04"]) { mutant, _ in
      let hasFailed = Box(false)
      mutant = mutant.mappingStyles { completion in
        { styles, failure in
          hasFailed.value = failure != nil
          completion(styles, failure)
        }
      }
      let inner = mutant.availableStyles
      mutant.availableStyles = { hasFailed.value ? nil : inner() }
    },
    Mutant(tsai: "failure-makes-empty", "A failed fetch leaves an empty snapshot.", breaks: ["T-05"]) { mutant, _ in
      let hasFailed = Box(false)
      mutant = mutant.mappingStyles { completion in
        { styles, failure in
          if failure != nil { hasFailed.value = true }
          completion(styles, failure)
        }
      }
      let inner = mutant.availableStyles
      mutant.availableStyles = { inner() ?? (hasFailed.value ? [] : nil) }
    },
    Mutant(tsai: "merges-styles", "New styles are added to the former ones.", breaks: ["T-06"]) { mutant, _ in
      let all = Box<[TSAISurface.Style]>([])
      let inner = mutant.availableStyles
      let merged: @Sendable () -> [TSAISurface.Style]? = {
        guard let now = inner() else { return nil }
        all.change { all in all += now.filter { !all.contains($0) } }
        return all.value
      }
      mutant.availableStyles = merged
      mutant = mutant.mappingStyles { completion in
        { styles, failure in
          _ = merged()
          completion(styles, failure)
        }
      }
    },
    Mutant(tsai: "styles-after-the-completion", "The snapshot is set when the completion is over.", breaks: ["T-06"]) {
      mutant, _ in
      let known = Box<[TSAISurface.Style]?>(nil)
      let inner = mutant.availableStyles
      mutant.availableStyles = { known.value }
      mutant = mutant.mappingStyles { completion in
        { styles, failure in
          completion(styles, failure)
          known.value = inner()
        }
      }
    },
    Mutant(tsai: "styles-on-any-thread", "The completion of a fetch runs on the provider's thread.", breaks: ["T-07"]) {
      mutant, _ in
      mutant = mutant.mappingStyles { completion in
        { styles, failure in DispatchQueue.global().async { completion(styles, failure) } }
      }
    },
    Mutant(
      tsai: "cached-styles-at-once", "With a snapshot at hand, the completion runs within the call.", breaks: ["T-07"]
    ) { mutant, _ in
      let (inner, styles) = (mutant.fetchAvailableStyles, mutant.availableStyles)
      mutant.fetchAvailableStyles = { completion in
        if let known = styles(), let completion { return completion(known, nil) }
        inner(completion)
      }
    },
    Mutant(tsai: "styles-twice", "The completion of a fetch runs for the cache and for the answer.", breaks: ["T-07", "T-10"]) {
      mutant, _ in
      mutant = mutant.mappingStyles { completion in
        { styles, failure in
          completion(styles, failure)
          completion(styles, failure)
        }
      }
    },
    Mutant(
      tsai: "no-styles-is-nothing", "A fetch of zero styles ends with neither styles nor an error.", breaks: ["T-03", "T-08"]
    ) {
      mutant, _ in
      mutant = mutant.mappingStyles { completion in
        { styles, failure in completion(styles.flatMap { $0.isEmpty ? nil : $0 }, failure) }
      }
    },
    Mutant(tsai: "former-styles-with-the-error", "A failed fetch hands out the former styles beside its error.", breaks: ["T-08"])
    {
      mutant, _ in
      let known = mutant.availableStyles
      mutant = mutant.mappingStyles { completion in
        { styles, failure in completion(styles ?? known(), failure) }
      }
    },
    Mutant(tsai: "nil-completion-no-fetch", "Without a completion nothing is fetched.", breaks: ["T-09"]) { mutant, _ in
      let inner = mutant.fetchAvailableStyles
      mutant.fetchAvailableStyles = { completion in if let completion { inner(completion) } }
    },
    Mutant(
      tsai: "last-fetch-alone-is-told", "Of fetches at the same time only the last one has its completion run.", breaks: ["T-10"]
    ) {
      mutant, _ in
      let last = Box(0)
      let inner = mutant.fetchAvailableStyles
      mutant.fetchAvailableStyles = { completion in
        let number = last.value + 1
        last.value = number
        guard let completion else { return inner(nil) }
        inner { styles, failure in if last.value == number { completion(styles, failure) } }
      }
    },
    Mutant(tsai: "live-styles", "The snapshot is the provider's list as it is now.", breaks: ["T-02", "T-05", "T-11"]) {
      mutant, context in
      mutant.availableStyles = { context.testDouble.styles }
    },
  ]

  // MARK: - Images

  private static let tsaiImages: [Mutant] = [
    Mutant(tsai: "no-task-id-for-invalid", "Arguments that can't be used have no identifier.", breaks: ["T-12"]) { mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        let taskId = inner(prompt, config, changed, completion)
        return prompt.isEmpty ? "" : taskId
      }
    },
    Mutant(tsai: "task-id-of-the-prompt", "The identifier is made from the prompt.", breaks: ["T-12", "T-25"]) { mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        _ = inner(prompt, config, changed, completion)
        return "task-\(prompt)"
      }
    },
    Mutant(tsai: "images-on-any-thread", "The completion of a generation runs on the provider's thread.", breaks: ["T-13"]) {
      mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in DispatchQueue.global().async { completion(result, failure) } }
      }
    },
    Mutant(tsai: "invalid-at-once", "What is wrong with the arguments is told within the call.", breaks: ["T-13"]) { mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        guard prompt.contains(where: { !$0.isWhitespace }) else {
          completion?(nil, TSAISurface.Failure(.invalidParameter))
          return "refused-\(UInt64.random(in: 0 ... .max))"
        }
        return inner(prompt, config, changed, completion)
      }
    },
    Mutant(tsai: "images-twice", "The completion of a generation runs twice.", breaks: ["T-13", "T-36", "T-32"]) { mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in
          completion(result, failure)
          completion(result, failure)
        }
      }
    },
    Mutant(tsai: "nil-completion-no-task", "Without a completion nothing is made.", breaks: ["T-14"]) { mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        completion == nil ? "none" : inner(prompt, config, changed, completion)
      }
    },
    Mutant(tsai: "blank-prompt-sent", "A prompt of blanks is made.", breaks: ["T-15"]) { mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        inner(prompt.isEmpty || prompt.contains { !$0.isWhitespace } ? prompt : "image", config, changed, completion)
      }
    },
    Mutant(tsai: "clamps-count", "A count out of range becomes the nearest legal one.", breaks: ["T-16"]) { mutant, _ in
      let limit = mutant.maximumImageCount
      mutant = mutant.mappingConfig { config in
        if let count = config.imageCount, limit() > 0 { config.imageCount = min(max(count, 1), limit()) }
      }
    },
    Mutant(tsai: "limit-is-exclusive", "As many images as the limit says are refused.", breaks: ["T-16"]) { mutant, _ in
      let limit = mutant.maximumImageCount
      mutant = mutant.mappingConfig { config in if config.imageCount == limit() { config.imageCount = limit() + 1 } }
    },
    Mutant(tsai: "unsupported-is-task-failed", "What isn't supported ends like any failure.", breaks: ["T-17"]) { mutant, _ in
      mutant = mutant.mappingFailures { $0.code == .notSupported ? TSAISurface.Failure(.taskFailed) : $0 }
    },
    Mutant(tsai: "empty-style-refused", "An empty style is looked up and not found.", breaks: ["T-18"]) { mutant, _ in
      mutant = mutant.mappingConfig { if $0.styleIdentifier == "" { $0.styleIdentifier = "no such style" } }
    },
    Mutant(tsai: "unknown-style-dropped", "A style that isn't known is left out without a word.", breaks: ["T-19"]) { mutant, _ in
      let known = mutant.availableStyles
      mutant = mutant.mappingConfig { config in
        if let style = config.styleIdentifier, let known = known(), !known.contains(where: { $0.identifier == style }) {
          config.styleIdentifier = nil
        }
      }
    },
    Mutant(tsai: "styles-outlive-the-provider", "Styles of a former provider are taken.", breaks: ["T-19"]) { mutant, _ in
      let former = Box<Set<String>>([])
      let (known, inner) = (mutant.availableStyles, mutant.switchProvider)
      mutant.switchProvider = { service in
        former.value.formUnion((known() ?? []).map(\.identifier))
        inner(service)
      }
      mutant = mutant.mappingConfig { config in
        if let style = config.styleIdentifier, former.value.contains(style) { config.styleIdentifier = nil }
      }
    },
    Mutant(tsai: "style-without-snapshot", "Before any fetch every style is taken.", breaks: ["T-20"]) { mutant, _ in
      let known = mutant.availableStyles
      mutant = mutant.mappingConfig { if known() == nil { $0.styleIdentifier = nil } }
    },
    Mutant(tsai: "auto-is-unknown", "The language Auto is taken for none.", breaks: ["T-21"]) { mutant, _ in
      mutant = mutant.mappingConfig { if $0.language == .auto { $0.language = .unknown } }
    },
    Mutant(tsai: "english-unless-told", "Without a language prompts are English, whatever the app is.", breaks: ["T-21"]) {
      mutant, _ in
      mutant = mutant.mappingConfig { if $0.language == nil || $0.language == .unknown { $0.language = .tag("en-US") } }
    },
    Mutant(tsai: "points-not-pixels", "The size is multiplied with the scale of the screen.", breaks: ["T-22"]) { mutant, _ in
      mutant = mutant.mappingConfig { config in
        config.width *= 2
        config.height *= 2
      }
    },
    Mutant(tsai: "useless-size-is-square", "A size that can't be made becomes a usual one.", breaks: ["T-22"]) { mutant, _ in
      mutant = mutant.mappingConfig { config in
        if !(config.width >= 1 && config.height >= 1 && config.width < 1e6 && config.height < 1e6) {
          (config.width, config.height) = (512, 512)
        }
      }
    },
    Mutant(tsai: "config-by-reference", "The configuration is read when the provider gets its turn.", breaks: ["T-23"]) {
      mutant, _ in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in inner(prompt, changed ?? config, nil, completion) }
    },
    Mutant(tsai: "factory-without-count", "The factory leaves the count at zero.", breaks: ["T-24"]) { mutant, _ in
      let inner = mutant.factoryConfig
      mutant.factoryConfig = { style, width, height in
        var config = inner(style, width, height)
        config.imageCount = 0
        return config
      }
    },
    Mutant(tsai: "server-task-id", "The result carries the server's identifier.", breaks: ["T-25"]) { mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in completion(result.map { .init(taskId: "server-1", images: $0.images) }, failure) }
      }
    },
    Mutant(tsai: "success-without-images", "Images that are gone make an empty success.", breaks: ["T-26"]) { mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in completion(result.map { .init(taskId: $0.taskId, images: []) }, failure) }
      }
    },
    Mutant(tsai: "always-four-images", "The provider's batch is handed on, whatever was asked for.", breaks: ["T-26"]) {
      mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in
          completion(
            result.map { result in
              .init(taskId: result.taskId, images: (0..<4).map { result.images[$0 % result.images.count] })
            }, failure)
        }
      }
    },
    Mutant(tsai: "each-answer-is-told", "Each answer of the provider runs the completion.", breaks: ["T-36"]) {
      mutant, context in
      let completions = Box<[String: TSAISurface.Completion]>([:])
      let heard = Box<Set<String>>([])
      context.testDouble.onAnswer { taskId, _ in
        guard let completion = completions.value[taskId], !heard.insert(taskId) else { return }
        context.postToMain { completion(nil, TSAISurface.Failure(.taskFailed)) }
      }
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        let taskId = inner(prompt, config, changed, completion)
        completions.value[taskId] = completion
        return taskId
      }
    },
    Mutant(tsai: "answers-as-they-come", "Whatever the provider answers is handed on.", breaks: ["T-37"]) {
      mutant, context in
      let answers = Box<[TSAISurface.Answer]>([])
      context.testDouble.onAnswer { _, answer in if case .success(let answer) = answer { answers.value.append(answer) } }
      mutant = mutant.mappingCompletion { completion in
        { result, failure in
          guard failure?.code == .invalidResponse || result != nil, let answer = answers.value.last else {
            return completion(result, failure)
          }
          completion(
            .init(
              taskId: answer.taskId,
              images: answer.images.map { .init(width: $0.width, height: $0.height, object: Box(0)) }), nil)
        }
      }
    },
    Mutant(tsai: "keeps-images", "The last images are kept for the next view that wants them.", breaks: ["T-38"]) { mutant, _ in
      let last = Box<TSAISurface.Result?>(nil)
      mutant = mutant.mappingCompletion { completion in
        { result, failure in
          last.value = result
          completion(result, failure)
        }
      }
    },
    Mutant(tsai: "waits-for-the-provider", "The call returns when the provider has taken the task.", breaks: ["T-39"]) {
      mutant, context in
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        context.testDouble.gate?.passBlocking()
        return inner(prompt, config, changed, completion)
      }
    },
    Mutant(tsai: "task-failed-for-all", "Each failure of the provider is TaskFailed.", breaks: ["T-40"]) { mutant, _ in
      let kept: Set<TSAISurface.Code?> = [.invalidParameter, .notSupported, .contextInactive, .cancelled, .invalidResponse]
      mutant = mutant.mappingFailures { kept.contains($0.code) ? $0 : TSAISurface.Failure(.taskFailed) }
    },
  ]

  // MARK: - Cancelling

  private static let tsaiCancels: [Mutant] = [
    Mutant(
      tsai: "tsai-cancel-does-nothing", "A cancel is for the provider alone; its result still comes.",
      breaks: ["T-27", "T-28", "T-32"]
    ) {
      mutant, _ in mutant.cancelImageGeneration = { _ in }
    },
    Mutant(tsai: "cancelled-is-silent", "The completion of a cancelled task never runs.", breaks: ["T-28", "T-30", "T-32"]) {
      mutant, _ in
      mutant = mutant.mappingCompletion { completion in
        { result, failure in if failure?.code != .cancelled { completion(result, failure) } }
      }
    },
    Mutant(tsai: "cancelled-is-task-failed", "A cancelled task ends like one that failed.", breaks: ["T-28", "T-32"]) {
      mutant, _ in
      mutant = mutant.mappingFailures { $0.code == .cancelled ? TSAISurface.Failure(.taskFailed) : $0 }
    },
    Mutant(tsai: "each-cancel-is-told", "Cancelling again runs the completion again.", breaks: ["T-29", "T-32"]) {
      mutant, context in
      let completions = Box<[String: TSAISurface.Completion]>([:])
      let cancelled = Box<Set<String>>([])
      let (innerGenerate, innerCancel) = (mutant.generateImages, mutant.cancelImageGeneration)
      mutant.generateImages = { prompt, config, changed, completion in
        let taskId = innerGenerate(prompt, config, changed, completion)
        completions.value[taskId] = completion
        return taskId
      }
      mutant.cancelImageGeneration = { taskId in
        if !cancelled.insert(taskId), let completion = completions.value[taskId] {
          context.postToMain { completion(nil, TSAISurface.Failure(.cancelled)) }
        }
        innerCancel(taskId)
      }
    },
    Mutant(tsai: "cancels-the-last-task", "A cancel stops the latest task, whichever was named.", breaks: ["T-30"]) { mutant, _ in
      let last = Box("")
      let (innerGenerate, innerCancel) = (mutant.generateImages, mutant.cancelImageGeneration)
      mutant.generateImages = { prompt, config, changed, completion in
        let taskId = innerGenerate(prompt, config, changed, completion)
        last.value = taskId
        return taskId
      }
      mutant.cancelImageGeneration = { _ in innerCancel(last.value) }
    },
    Mutant(tsai: "cancel-lost-within-completion", "A cancel within a completion is lost: the lock is taken.", breaks: ["T-31"]) {
      mutant, _ in
      let isWithin = Box(false)
      mutant = mutant.mappingCompletion { completion in
        { result, failure in
          isWithin.value = true
          defer { isWithin.value = false }
          completion(result, failure)
        }
      }
      let inner = mutant.cancelImageGeneration
      mutant.cancelImageGeneration = { if !isWithin.value { inner($0) } }
    },
    Mutant(
      tsai: "looks-then-acts", "A cancel looks whether the task is done, and tells of the cancel later.", breaks: ["T-32"]
    ) { mutant, context in
      let completions = Box<[String: TSAISurface.Completion]>([:])
      let isDone = Box<Set<String>>([])
      let inner = mutant.generateImages
      mutant.generateImages = { prompt, config, changed, completion in
        let own = Box("")
        let taskId = inner(prompt, config, changed) { result, failure in
          _ = isDone.insert(own.value)
          completion?(result, failure)
        }
        own.value = taskId
        completions.value[taskId] = completion
        return taskId
      }
      mutant.cancelImageGeneration = { taskId in
        guard !isDone.value.contains(taskId), let completion = completions.value[taskId] else { return }
        context.postToMain { completion(nil, TSAISurface.Failure(.cancelled)) }
      }
    },
    Mutant(tsai: "provider-not-told", "The provider never hears of a cancel.", breaks: ["T-33", "T-34"]) { _, context in
      context.testDouble.hideCancels()
    },
    Mutant(tsai: "cancel-all-keeps-styles", "Cancelling everything keeps the snapshot.", breaks: ["T-34"]) { mutant, _ in
      let kept = Box<[TSAISurface.Style]?>(nil)
      let (styles, inner) = (mutant.availableStyles, mutant.cancelAllTasks)
      mutant.cancelAllTasks = {
        kept.value = styles()
        inner()
      }
      mutant.availableStyles = { styles() ?? kept.value }
    },
    Mutant(tsai: "cancel-all-forgets", "Cancelling everything forgets the completions that wait.", breaks: ["T-34"]) {
      mutant, _ in
      let isCancelled = Box(false)
      let inner = mutant.cancelAllTasks
      mutant.cancelAllTasks = {
        isCancelled.value = true
        inner()
      }
      mutant = mutant.mappingCompletion { completion in
        { result, failure in if !isCancelled.value || failure?.code != .cancelled { completion(result, failure) } }
      }
    },
    Mutant(tsai: "works-while-inactive", "A context that was deactivated goes on.", breaks: ["T-35"]) { mutant, _ in
      mutant.deactivate = {}
    },
    Mutant(tsai: "replaced-context-works", "A context that was replaced goes on.", breaks: ["T-35"]) { mutant, _ in
      mutant.activateAnother = {}
    },
  ]
}

extension Box where Value == Set<String> {
  /// Adds a member; false when it was there.
  func insert(_ member: String) -> Bool {
    var isNew = false
    change { isNew = $0.insert(member).inserted }
    return isNew
  }
}
