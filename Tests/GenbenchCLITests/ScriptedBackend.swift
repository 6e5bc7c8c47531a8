import Foundation
import GenBackend
import GenbenchCLI
import Running
import Synchronization
import Tensors

/// An engine that does nothing but tell the events of one, so that the command line can be watched.
final class ScriptedBackend: GenBackend {
  /// What it does out of the ordinary.
  struct Script: Sendable {
    var loadError: BackendError?
    /// The image, counted from 0 over the backend's life, that fails, and how.
    var failure: (image: Int, error: BackendError)?
    var safety = SafetyOutcome.unchecked
    var warning: String?
    /// Called before each image, with its number.
    var beforeImage: @Sendable (Int) -> Void = { _ in }
    var nativeSize = ImageSize(width: 16, height: 8)
  }

  private struct State {
    var images = 0
    var loads: [LoadRequest] = []
    var requests: [ImageRequest] = []
    var unloads = 0
    var specification: BackendSpecification?
  }

  private let script: Script
  private let state = Mutex(State())

  init(_ script: Script = Script()) { self.script = script }

  var requests: [ImageRequest] { state.withLock { $0.requests } }
  var loads: [LoadRequest] { state.withLock { $0.loads } }
  var unloads: Int { state.withLock { $0.unloads } }
  var specification: BackendSpecification? {
    get { state.withLock { $0.specification } }
    set { state.withLock { $0.specification = newValue } }
  }

  var info: BackendInfo {
    BackendInfo(name: "scripted", version: "1", capabilities: [.textToImage, .trace], details: ["threads": "1"])
  }

  func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    state.withLock { $0.loads.append(request) }
    if let error = script.loadError { throw error }
    span(.load, nil, control) {}
    return ModelInfo(
      id: ModelID("m"), variant: request.variant?.rawValue ?? "sd15", capabilities: [.textToImage],
      nativeSizes: [script.nativeSize],
      sizeMultiple: 8, predictionType: .epsilon, defaultScheduler: "pndm", defaultSteps: 3, parameterCount: 1000,
      weightBytes: 2000)
  }

  func unload(_ model: ModelID) async { state.withLock { $0.unloads += 1 } }

  private func span(_ stage: Stage, _ index: Int?, _ control: GenerationControl, _ body: () -> Void) {
    control.onEvent(.began(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
    body()
    control.onEvent(.ended(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
  }

  func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    let number = state.withLock { state -> Int in
      state.requests.append(request)
      defer { state.images += 1 }
      return state.images
    }
    script.beforeImage(number)
    if let warning = script.warning { control.onEvent(.warning(warning)) }
    let steps = request.steps ?? 3
    let size = request.size ?? script.nativeSize
    span(.tokenize, nil, control) {}
    span(.textEncode, nil, control) {}
    for step in 0..<steps {
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      if let failure = script.failure, failure.image == number, step == 1 { throw failure.error }
      span(.step, step, control) {
        span(.unetUnconditional, step, control) {}
        span(.unetConditional, step, control) {}
        span(.schedulerStep, step, control) {}
      }
      control.onEvent(.progress(step: step + 1, total: steps, timeNs: MonotonicTime.nanoseconds()))
      if let stride = request.previewStride, (step + 1) % stride == 0 {
        control.onEvent(.preview(step: step + 1, image: image(size, seed: UInt64(step)), safety: .unchecked))
      }
    }
    span(.vaeDecode, nil, control) {}
    let seed = request.seed ?? 77
    return ImageResult(
      images: (0..<request.imageCount).map { index in
        .init(bitmap: image(size, seed: seed &+ UInt64(index)), safety: script.safety, seed: seed &+ UInt64(index))
      },
      scheduler: request.scheduler?.description ?? "pndm", steps: steps, guidanceScale: request.guidanceScale ?? 7.5,
      trace: request.traceLevel == .none ? [:] : ["latents.init": Tensor(zeros: [1, 4, 1, 2])])
  }

  private func image(_ size: ImageSize, seed: UInt64) -> Bitmap {
    Bitmap(
      width: size.width, height: size.height,
      samples: (0..<(size.width * size.height * 3)).map { UInt8(truncatingIfNeeded: UInt64($0) &* 31 &+ seed &* 7) })
  }

  func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    let start = MonotonicTime.nanoseconds()
    span(.tokenize, nil, control) {}
    span(.prefill, nil, control) {}
    var first: UInt64?
    for token in 0..<min(request.maxTokens, 5) {
      if token > 0 { span(.decode, token - 1, control) {} }
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      let now = MonotonicTime.nanoseconds()
      first = first ?? now
      control.onEvent(.token(id: token, text: "t", timeNs: now))
    }
    let end = MonotonicTime.nanoseconds()
    return TextResult(
      text: "ttttt", ids: [0, 1, 2, 3, 4], promptIDs: [1, 2, 3], finishReason: .stop, timeToFirstTokenNs: (first ?? end) - start,
      totalNs: end - start, prefillTokensPerSecond: 100, decodeTokensPerSecond: 50)
  }
}
