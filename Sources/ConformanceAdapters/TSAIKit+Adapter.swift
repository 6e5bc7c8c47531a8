public import Conformance
import Foundation
public import TSAIKit
import Tensors

extension TSAIImplementation {
  /// This repository's `TSAIKit` over a provider that follows a script; also the example for others.
  ///
  /// - Parameter scheduler: Runs completions and calls of the provider; nil uses the usual queues.
  public static func tsaiKit(_ service: any ScriptedTSAIProvider, scheduler: SeededScheduler? = nil) -> TSAIImplementation {
    let queues = scheduler.map { scheduler in
      TSAIQueues(
        completion: { work in scheduler.post("main", "completion", work) },
        provider: { work in scheduler.post("provider", "call") { work() } })
    }
    return tsaiKit(provider: ServiceProvider(service), queues: queues ?? .standard())
  }

  /// This repository's `TSAIKit` over a provider.
  public static func tsaiKit(provider: any TSAIImageGenerationProvider, queues: TSAIQueues = .standard()) -> TSAIImplementation {
    let kit = TSAIKit()
    // French, so that it's told from the tags of the checks.
    let context = TSAIContext(imageProvider: provider, appLanguage: .french, queues: queues)
    kit.activate(context)
    return TSAIImplementation(
      capabilities: Set(TSAISurface.Capability.allCases), appLanguage: .tag("fr-FR"),
      supportsImageGeneration: { context.supportsAIFeatures(.imageGeneration) },
      maximumImageCount: { context.imageGeneration.maximumImageCount },
      availableStyles: { context.imageGeneration.availableStyles.map(translated) },
      fetchAvailableStyles: { completion in
        guard let completion else { return context.imageGeneration.fetchAvailableStyles(completion: nil) }
        context.imageGeneration.fetchAvailableStyles { styles, error in
          completion(styles.map(translated), error.map(translated))
        }
      },
      factoryConfig: { styleIdentifier, width, height in
        let made = TSAIImageGenerationConfig.config(
          styleIdentifier: styleIdentifier, imageSize: CGSize(width: width, height: height))
        var config = TSAISurface.Config(width: Double(made.imageSize.width), height: Double(made.imageSize.height))
        config.styleIdentifier = made.styleIdentifier
        config.imageCount = made.imageCount
        config.language = made.language.tag.map { .tag($0) } ?? (made.language == .auto ? .auto : .unknown)
        return config
      },
      generateImages: { prompt, config, changed, completion in
        let own = TSAIImageGenerationConfig(styleIdentifier: nil, imageSize: .zero)
        apply(config, to: own)
        let block = completion.map { completion -> TSAIImageGenerationCompletionBlock in
          { result, error in completion(result.map(translated), error.map(translated)) }
        }
        let taskId = context.imageGeneration.generateImages(prompt: prompt, config: own, completion: block)
        if let changed { apply(changed, to: own) }
        return taskId
      },
      cancelImageGeneration: { context.imageGeneration.cancelImageGeneration(taskId: $0) },
      cancelAllTasks: { context.imageGeneration.cancelAllTasks() }, deactivate: { kit.deactivate() },
      activateAnother: { kit.activate(TSAIContext(imageProvider: nil)) },
      switchProvider: { context.setImageProvider(ServiceProvider($0)) })
  }
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

private func translated(_ styles: [TSAIImageGenerationStyle]) -> [TSAISurface.Style] {
  styles.map { TSAISurface.Style(name: $0.name, identifier: $0.styleIdentifier) }
}

private func translated(_ error: TSAIError) -> TSAISurface.Failure {
  TSAISurface.Failure(TSAISurface.Code(rawValue: error.errorCode), message: error.message)
}

private func translated(_ result: TSAIImageGenerationResult) -> TSAISurface.Result {
  TSAISurface.Result(
    taskId: result.taskId,
    images: result.images.map { TSAISurface.Image(width: $0.pixelWidth, height: $0.pixelHeight, object: $0) })
}

/// A service that follows a script, as a provider of TSAIKit.
private final class ServiceProvider: TSAIImageGenerationProvider {
  private let service: any ScriptedTSAIProvider

  init(_ service: any ScriptedTSAIProvider) { self.service = service }

  var isSupported: Bool { service.isSupported }
  var maximumImageCount: Int { service.maximumImageCount }

  func fetchStyles(reply: @escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void) {
    service.fetchStyles { answer in
      reply(
        answer.map { styles in styles.map { TSAIImageGenerationStyle(name: $0.name, styleIdentifier: $0.identifier) } }
          .mapError(Self.error))
    }
  }

  func generateImages(
    _ request: TSAIImageGenerationRequest, reply: @escaping @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void
  ) {
    service.generateImages(
      TSAISurface.Request(
        taskId: request.taskId, prompt: request.prompt, styleIdentifier: request.styleIdentifier,
        imageCount: request.imageCount, width: request.width, height: request.height,
        language: request.language.tag.map { .tag($0) } ?? .unknown)
    ) { answer in
      reply(
        answer.map { answer in
          TSAIImageGenerationResult(taskId: answer.taskId, images: answer.images.map { TSAIImage(bitmap: $0) })
        }.mapError(Self.error))
    }
  }

  func cancel(taskId: String) { service.cancel(taskId: taskId) }
  func cancelAllTasks() { service.cancelAllTasks() }

  private static func error(_ failure: TSAISurface.Failure) -> any Error {
    TSAIError(failure.code.flatMap { TSAIError.Code(rawValue: $0.rawValue) } ?? .taskFailed, failure.message)
  }
}
