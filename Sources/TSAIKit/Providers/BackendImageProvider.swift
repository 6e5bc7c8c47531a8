public import GenBackend
import Imaging
import Synchronization
import Tensors

/// A provider over an engine in this process or another one: anything that is a `GenBackend`.
///
/// An engine makes one request at a time, so tasks wait here for their turn. The language of a prompt isn't looked at: the
/// model reads what its tokenizer knows.
public final class BackendImageProvider: TSAIImageGenerationProvider {
  private struct Job: Sendable {
    var request: TSAIImageGenerationRequest
    var token = CancellationToken()
    var reply: @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void
  }

  private struct State {
    var waiting: [Job] = []
    var running: Job?
  }

  /// Longest side that it makes, in pixels.
  public static let largestSide = 8192

  /// The model.
  public let model: ModelInfo
  /// The most images of one task.
  public let maximumImageCount: Int
  private let backend: any GenBackend
  private let styles: [PromptStyle]
  private let steps: Int?
  private let seed: UInt64?
  private let state = Mutex(State())

  /// Makes a provider of a model that is loaded.
  ///
  /// - Parameters:
  ///   - backend: The engine.
  ///   - model: What its `load` has returned.
  ///   - styles: The styles that it offers.
  ///   - maximumImageCount: The most images of one task.
  ///   - steps: Denoising steps; nil is the model's own number.
  ///   - seed: The seed of every task; nil draws one each time.
  public init(
    backend: any GenBackend, model: ModelInfo, styles: [PromptStyle] = PromptStyle.standard, maximumImageCount: Int = 4,
    steps: Int? = nil, seed: UInt64? = nil
  ) {
    self.backend = backend
    self.model = model
    self.styles = styles
    self.maximumImageCount = max(0, maximumImageCount)
    self.steps = steps
    self.seed = seed
  }

  /// Whether the model makes images.
  public var isSupported: Bool { model.capabilities.contains(.textToImage) }

  /// Gives the styles at once.
  public func fetchStyles(reply: @escaping @Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void) {
    reply(.success(styles.map(\.style)))
  }

  // MARK: - Tasks

  /// Puts a task at the end of the queue.
  public func generateImages(
    _ request: TSAIImageGenerationRequest, reply: @escaping @Sendable (Result<TSAIImageGenerationResult, any Error>) -> Void
  ) {
    let isIdle = state.withLock { state in
      state.waiting.append(Job(request: request, reply: reply))
      return state.running == nil && state.waiting.count == 1
    }
    if isIdle { Task { await self.workOff() } }
  }

  /// Stops a task, or takes it out of the queue.
  public func cancel(taskId: String) {
    state.withLock { state in
      for job in state.waiting + [state.running].compactMap({ $0 }) where job.request.taskId == taskId { job.token.cancel() }
    }
  }

  /// Stops all tasks.
  public func cancelAllTasks() {
    state.withLock { state in
      for job in state.waiting + [state.running].compactMap({ $0 }) { job.token.cancel() }
    }
  }

  private func workOff() async {
    while let job = next() {
      do {
        if job.token.isCancelled { throw TSAIError(.cancelled, "the task was cancelled before its turn") }
        job.reply(.success(try await images(of: job)))
      } catch {
        job.reply(.failure(job.token.isCancelled ? TSAIError(.cancelled, "the task was cancelled") : Self.translated(error)))
      }
    }
  }

  private func next() -> Job? {
    state.withLock { state in
      state.running = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
      return state.running
    }
  }

  private func images(of job: Job) async throws -> TSAIImageGenerationResult {
    let request = job.request
    guard request.width <= Self.largestSide, request.height <= Self.largestSide else {
      throw TSAIError(
        .invalidParameter,
        "imageSize: at most \(Self.largestSide) pixels a side can be made, \(request.width)x\(request.height) were asked for")
    }
    let style = styles.first { $0.style.styleIdentifier == request.styleIdentifier }
    var asked = ImageRequest(model: model.id, prompt: style?.prompt(request.prompt) ?? request.prompt)
    if model.capabilities.contains(.negativePrompt) { asked.negativePrompt = style?.negativePrompt }
    asked.size = model.generationSize(for: ImageSize(width: request.width, height: request.height))
    asked.steps = steps
    asked.seed = seed
    // One request where the model makes several images of one, otherwise one after the other.
    let canBatch = model.capabilities.contains(.batch)
    asked.imageCount = canBatch ? request.imageCount : 1
    var images: [TSAIImage] = []
    var made = 0
    while made < request.imageCount {
      let result = try await backend.generateImages(asked, control: GenerationControl(cancellation: job.token))
      made += max(1, result.images.count)
      for image in result.images where image.safety != .filtered {
        guard image.bitmap.width > 0, image.bitmap.height > 0 else {
          throw TSAIError(.invalidResponse, "the engine returned an image without pixels")
        }
        images.append(TSAIImage(bitmap: image.bitmap.filling(width: request.width, height: request.height)))
      }
      asked.seed = seed.map { $0 &+ UInt64(made) }
    }
    guard !images.isEmpty else {
      throw TSAIError(.contentRejected, "the safety checker let no image of this prompt pass; change the prompt")
    }
    return TSAIImageGenerationResult(taskId: request.taskId, images: images)
  }

  private static func translated(_ error: any Error) -> any Error {
    guard let error = error as? BackendError else { return error }
    let code: TSAIError.Code =
      switch error.code {
      case .notLoaded, .modelNotFound, .invalidModel, .unavailable: .providerUnavailable
      case .invalidInput: .invalidParameter
      case .notSupported: .notSupported
      case .busy: .busy
      case .cancelled: .cancelled
      case .outOfMemory, .processingFailed: .taskFailed
      }
    return TSAIError(code, error.message)
  }
}
