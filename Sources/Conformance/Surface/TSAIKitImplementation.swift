import Foundation
public import TSAIKit
import Tensors

/// The adapter for this repository's own `TSAIKit`; also the example for others.
public final class TSAIKitImplementation: TSAIImplementation {
  private let kit = TSAIKit()
  private let context: TSAIContext

  /// Judges a context over a service that follows a script.
  ///
  /// - Parameter scheduler: Runs completions and calls of the provider; nil uses the usual queues.
  public convenience init(service: ScriptedTSAIService, scheduler: SeededScheduler? = nil) {
    let queues = scheduler.map { scheduler in
      TSAIQueues(
        completion: { work in scheduler.post("main", "completion", work) },
        provider: { work in scheduler.post("provider", "call") { work() } })
    }
    self.init(provider: ServiceProvider(service), queues: queues ?? .standard())
  }

  /// Judges a context over a provider.
  public init(provider: any TSAIImageGenerationProvider, queues: TSAIQueues = .standard()) {
    context = TSAIContext(imageProvider: provider, appLanguage: .french, queues: queues)
    kit.activate(context)
  }

  /// It lacks nothing.
  public var capabilities: Set<TSAISurface.Capability> { Set(TSAISurface.Capability.allCases) }
  /// French, so that it's told from the tags of the checks.
  public var appLanguage: TSAISurface.Language { .tag("fr-FR") }
  /// `supportsAIFeatures`.
  public var supportsImageGeneration: Bool { context.supportsAIFeatures(.imageGeneration) }
  /// `maximumImageCount`.
  public var maximumImageCount: Int { context.imageGeneration.maximumImageCount }
  /// `availableStyles`.
  public var availableStyles: [TSAISurface.Style]? { context.imageGeneration.availableStyles.map(translate) }

  /// `fetchAvailableStyles`.
  public func fetchAvailableStyles(completion: TSAISurface.StylesCompletion?) {
    guard let completion else { return context.imageGeneration.fetchAvailableStyles(completion: nil) }
    context.imageGeneration.fetchAvailableStyles { styles, error in
      completion(styles.map(translate), error.map(translate))
    }
  }

  /// `TSAIImageGenerationConfig.config(styleIdentifier:imageSize:)`.
  public func factoryConfig(styleIdentifier: String?, width: Double, height: Double) -> TSAISurface.Config {
    let made = TSAIImageGenerationConfig.config(
      styleIdentifier: styleIdentifier, imageSize: CGSize(width: width, height: height))
    var config = TSAISurface.Config(width: Double(made.imageSize.width), height: Double(made.imageSize.height))
    config.styleIdentifier = made.styleIdentifier
    config.imageCount = made.imageCount
    config.language = made.language.tag.map { .tag($0) } ?? (made.language == .auto ? .auto : .unknown)
    return config
  }

  /// `generateImages`.
  public func generateImages(
    prompt: String, config: TSAISurface.Config, thenChanging changed: TSAISurface.Config?, completion: TSAISurface.Completion?
  ) -> String {
    let own = TSAIImageGenerationConfig(styleIdentifier: nil, imageSize: .zero)
    apply(config, to: own)
    let block = completion.map(Self.block)
    let taskId = context.imageGeneration.generateImages(prompt: prompt, config: own, completion: block)
    if let changed { apply(changed, to: own) }
    return taskId
  }

  /// `cancelImageGeneration`.
  public func cancelImageGeneration(taskId: String) { context.imageGeneration.cancelImageGeneration(taskId: taskId) }
  /// `cancelAllTasks`.
  public func cancelAllTasks() { context.imageGeneration.cancelAllTasks() }
  /// Deactivates the context.
  public func deactivate() { kit.deactivate() }
  /// Activates another context.
  public func activateAnother() { kit.activate(TSAIContext(imageProvider: nil)) }
  /// Replaces the provider.
  public func switchProvider(to service: ScriptedTSAIService) { context.setImageProvider(ServiceProvider(service)) }

  private static func block(_ completion: @escaping TSAISurface.Completion) -> TSAIImageGenerationCompletionBlock {
    { result, error in completion(result.map(translate), error.map(translate)) }
  }

  private func apply(_ config: TSAISurface.Config, to own: TSAIImageGenerationConfig) {
    own.styleIdentifier = config.styleIdentifier
    own.imageSize = CGSize(width: config.width, height: config.height)
    if let count = config.imageCount { own.imageCount = count }
    switch config.language {
    case nil: break
    case .unknown: own.language = .unknown
    case .auto: own.language = .auto
    case .tag(let tag): own.language = TSAILanguage(tag: tag) ?? .unknown
    }
  }
}

private func translate(_ styles: [TSAIImageGenerationStyle]) -> [TSAISurface.Style] {
  styles.map { TSAISurface.Style(name: $0.name, identifier: $0.styleIdentifier) }
}

private func translate(_ error: TSAIError) -> TSAISurface.Failure {
  TSAISurface.Failure(TSAISurface.Code(rawValue: error.errorCode), message: error.message)
}

private func translate(_ result: TSAIImageGenerationResult) -> TSAISurface.Result {
  TSAISurface.Result(
    taskId: result.taskId,
    images: result.images.map { TSAISurface.Image(width: $0.pixelWidth, height: $0.pixelHeight, object: $0) })
}

/// A service that follows a script, as a provider of TSAIKit.
private final class ServiceProvider: TSAIImageGenerationProvider {
  private let service: ScriptedTSAIService

  init(_ service: ScriptedTSAIService) { self.service = service }

  var isSupported: Bool { service.isSupported }
  var maximumImageCount: Int { service.maximumImageCount }

  func fetchStyles(reply: @escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void) {
    service.fetchStyles { answer in
      reply(
        answer.map { styles in styles.map { TSAIImageGenerationStyle(name: $0.name, styleIdentifier: $0.identifier) } }
          .mapError(Self.translated))
    }
  }

  func generateImages(
    _ request: TSAIImageGenerationRequest, reply: @escaping @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void
  ) {
    service.generateImages(
      ScriptedTSAIService.Request(
        taskId: request.taskId, prompt: request.prompt, styleIdentifier: request.styleIdentifier,
        imageCount: request.imageCount, width: request.width, height: request.height,
        language: request.language.tag.map { .tag($0) } ?? .unknown)
    ) { answer in
      reply(
        answer.map { answer in
          TSAIImageGenerationResult(taskId: answer.taskId, images: answer.images.map { TSAIImage(bitmap: $0) })
        }.mapError(Self.translated))
    }
  }

  func cancel(taskId: String) { service.cancel(taskId: taskId) }
  func cancelAllTasks() { service.cancelAllTasks() }

  private static func translated(_ failure: TSAISurface.Failure) -> any Error {
    TSAIError(failure.code.flatMap { TSAIError.Code(rawValue: $0.rawValue) } ?? .taskFailed, failure.message)
  }
}
