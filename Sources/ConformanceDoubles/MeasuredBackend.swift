public import Conformance
import Foundation
public import GenBackend
import Synchronization
import Tensors

/// An engine for a harness to measure: real time, little images, failures and memory on demand.
public final class MeasuredBackend: MeasurableEngine {
  private let failingAt: Int?
  private let error: BackendError
  private let heldBytes: Int
  private let side: Int
  private let requests = Atomic<Int>(0)

  /// The path that it loads.
  public let path = "measured:/model"

  /// Makes an engine.
  ///
  /// - Parameters:
  ///   - failingAt: The request, from 1, that fails.
  ///   - error: How.
  ///   - holdingBytes: Memory that is held during each request, and freed before it ends.
  ///   - side: Pixels of a side of its usual images.
  public init(
    failingAt: Int? = nil, with error: BackendError = BackendError(.processingFailed, "it fails"), holdingBytes: Int = 0,
    side: Int = 16
  ) {
    self.failingAt = failingAt
    self.error = error
    heldBytes = holdingBytes
    self.side = side
  }

  /// Requests for images so far.
  public var requestCount: Int { requests.load(ordering: .acquiring) }

  /// What it is.
  public var info: BackendInfo { BackendInfo(name: "measured", version: "1", capabilities: [.textToImage]) }

  /// Loads anything.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    emit(.load, index: nil, control) {}
    return ModelInfo(
      id: ModelID("measured"), variant: "sd15", capabilities: [.textToImage], nativeSizes: [ImageSize(width: side, height: side)],
      sizeMultiple: 8, predictionType: .epsilon, defaultScheduler: "ddim", defaultSteps: 2, parameterCount: 1, weightBytes: 4)
  }

  /// Frees nothing.
  public func unload(_ model: ModelID) async {}

  /// Makes a small image.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    let number = requests.add(1, ordering: .acquiringAndReleasing).newValue
    if number == failingAt { throw error }
    let steps = request.steps ?? 2
    for step in 0..<steps {
      emit(.step, index: step, control) { if step == 0 { hold() } }
      control.onEvent(.progress(step: step + 1, total: steps, timeNs: MonotonicTime.nanoseconds()))
    }
    let seed = request.seed ?? 1
    let bitmap = ScriptedImage.pattern(seed: seed, width: request.size?.width ?? side, height: request.size?.height ?? side)
    return ImageResult(
      images: [.init(bitmap: bitmap, safety: .unchecked, seed: seed)], scheduler: request.scheduler?.description ?? "ddim",
      steps: steps,
      guidanceScale: request.guidanceScale ?? 7.5)
  }

  /// Makes no text.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    throw BackendError(.notSupported, "images only")
  }

  private func emit(_ stage: Stage, index: Int?, _ control: GenerationControl, _ work: () -> Void) {
    control.onEvent(.began(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
    work()
    control.onEvent(.ended(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
  }

  /// Touches memory page by page, and gives it back.
  private func hold() {
    guard heldBytes > 0 else { return }
    let pointer = UnsafeMutableRawPointer.allocate(byteCount: heldBytes, alignment: 4096)
    for offset in stride(from: 0, to: heldBytes, by: 4096) { pointer.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self) }
    pointer.deallocate()
  }
}
