import Foundation
import GenBackend
import Synchronization
import TSAIKit
import Tensors

/// What a completion was told.
struct Told: Sendable {
  var result: TSAIImageGenerationResult?
  var error: TSAIError?
}

extension TSAIImageGenerationInterface {
  /// Generates and waits.
  func images(_ prompt: String, _ config: TSAIImageGenerationConfig) async -> Told {
    await withCheckedContinuation { continuation in
      generateImages(prompt: prompt, config: config) { continuation.resume(returning: Told(result: $0, error: $1)) }
    }
  }

  /// Fetches and waits.
  func styles() async -> ([TSAIImageGenerationStyle]?, TSAIError?) {
    await withCheckedContinuation { continuation in
      fetchAvailableStyles { continuation.resume(returning: ($0, $1)) }
    }
  }
}

/// A configuration for one small image.
func config(_ width: Double = 64, _ height: Double = 48, style: String? = nil, count: Int = 1) -> TSAIImageGenerationConfig {
  let config = TSAIImageGenerationConfig(styleIdentifier: style, imageSize: CGSize(width: width, height: height))
  config.imageCount = count
  return config
}

/// A provider that does what a closure says.
struct ClosureProvider: TSAIImageGenerationProvider {
  typealias Reply = @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void
  var isSupported = true
  var maximumImageCount = 4
  var styles: @Sendable (@escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void) -> Void = {
    $0(.success([]))
  }
  var images: @Sendable (TSAIImageGenerationRequest, @escaping Reply) -> Void = { _, _ in }

  func fetchStyles(reply: @escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void) { styles(reply) }
  func generateImages(_ request: TSAIImageGenerationRequest, reply: @escaping Reply) { images(request, reply) }
}

/// The answer to a request: one grey image.
func answer(_ request: TSAIImageGenerationRequest) -> TSAIImageGenerationResult {
  let bitmap = Bitmap(
    width: request.width, height: request.height,
    samples: [UInt8](repeating: 127, count: request.width * request.height * 3))
  return TSAIImageGenerationResult(taskId: request.taskId, images: [TSAIImage(bitmap: bitmap)])
}

/// An active context over a provider.
func activated(_ provider: any TSAIImageGenerationProvider) -> (TSAIKit, TSAIContext) {
  let kit = TSAIKit()
  let context = TSAIContext(imageProvider: provider)
  kit.activate(context)
  return (kit, context)
}

/// A value that several threads change.
final class Locked<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result { content.withLock { body(&$0) } }
}
