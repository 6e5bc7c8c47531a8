public import GenBackend
import Tensors

/// An engine that does nothing: what a request to it takes is what the harness itself costs.
public struct NullBackend: GenBackend {
  /// Makes an engine.
  public init() {}

  /// What it is.
  public var info: BackendInfo {
    BackendInfo(name: "null", version: "1", capabilities: [.textToImage, .batch, .textGeneration])
  }

  /// Loads nothing, for whatever path.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    let isText = request.variant.map { $0.isText } ?? request.path.hasSuffix(".gguf")
    span(.load, nil, control)
    return ModelInfo(
      id: ModelID("null"), variant: request.variant?.rawValue ?? "none",
      capabilities: isText ? [.textGeneration] : [.textToImage, .batch],
      nativeSizes: isText ? [] : [ImageSize(width: 64, height: 64)], sizeMultiple: 8,
      defaultScheduler: isText ? nil : "ddim", contextLength: isText ? 1 << 20 : nil)
  }

  /// Frees nothing.
  public func unload(_ model: ModelID) async {}

  private func span(_ stage: Stage, _ index: Int?, _ control: GenerationControl) {
    control.onEvent(.began(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
    control.onEvent(.ended(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
  }

  /// Tells the events of an image and returns a black one.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    let steps = request.steps ?? 20
    let size = request.size ?? ImageSize(width: 64, height: 64)
    span(.tokenize, nil, control)
    span(.textEncode, nil, control)
    for step in 0..<steps {
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      control.onEvent(.began(.step, index: step, timeNs: MonotonicTime.nanoseconds()))
      span(.unet, step, control)
      span(.schedulerStep, step, control)
      control.onEvent(.ended(.step, index: step, timeNs: MonotonicTime.nanoseconds()))
      control.onEvent(.progress(step: step + 1, total: steps, timeNs: MonotonicTime.nanoseconds()))
    }
    span(.vaeDecode, nil, control)
    let bitmap = Bitmap(
      width: size.width, height: size.height, samples: [UInt8](repeating: 0, count: size.width * size.height * 3))
    let seed = request.seed ?? 0
    return ImageResult(
      images: (0..<request.imageCount).map { .init(bitmap: bitmap, safety: .unchecked, seed: seed &+ UInt64($0)) },
      scheduler: request.scheduler?.description ?? "none", steps: steps, guidanceScale: request.guidanceScale ?? 1)
  }

  /// Tells the events of an answer of `maxTokens` tokens.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    let start = MonotonicTime.nanoseconds()
    span(.tokenize, nil, control)
    span(.prefill, nil, control)
    var first: UInt64?
    for token in 0..<request.maxTokens {
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      if token > 0 { span(.decode, token - 1, control) }
      let now = MonotonicTime.nanoseconds()
      first = first ?? now
      control.onEvent(.token(id: 0, text: "x", timeNs: now))
    }
    let end = MonotonicTime.nanoseconds()
    return TextResult(
      text: String(repeating: "x", count: request.maxTokens), ids: Array(repeating: 0, count: request.maxTokens),
      promptIDs: [0], finishReason: .length, timeToFirstTokenNs: (first ?? end) - start, totalNs: end - start,
      prefillTokensPerSecond: nil, decodeTokensPerSecond: nil)
  }

  /// What a request costs beside the engine's work: the median of a few, in ns; nil when none could be made.
  ///
  /// - Parameter steps: Denoising steps of the requests.
  public static func overheadNs(steps: Int) async -> UInt64? {
    var costs: [Double] = []
    for _ in 0..<9 {
      let recorder = RequestRecorder()
      var request = ImageRequest(model: ModelID("null"), prompt: "")
      request.steps = steps
      request.size = ImageSize(width: 8, height: 8)
      guard (try? await NullBackend().generateImages(request, control: recorder.control())) != nil else { return nil }
      recorder.finish()
      costs.append(Double(recorder.budget.totalNs))
    }
    return Statistics.median(costs).map { UInt64($0) }
  }
}
