import Foundation
public import GenBackend
import Imaging
public import ModelRegistry
public import Tensors

/// A loaded diffusion model and the one generation that may run on it.
///
/// ``RunAnywhere`` has a shared one; make your own to have several, each over its own engine. All members may be used from
/// any thread; none of them holds up a thread of Swift's pool.
public final class DiffusionSession: Sendable {
  private struct Model {
    var info: ModelInfo
    var id: String
    var name: String
    var configuration: DiffusionConfiguration
    /// Keeps its files from being deleted.
    var lease: ModelLease?
  }

  private let backend: any GenBackend
  private let registry: ModelRegistry?
  private let nowNs: @Sendable () -> UInt64
  private let occupancy = ModelOccupancy<Model, DiffusionRun>(generating: "an image is being generated")

  /// Makes a session without a model.
  ///
  /// - Parameters:
  ///   - backend: The engine.
  ///   - registry: Where models may be registered, whose files then aren't deleted while they're loaded.
  ///   - clock: Nanoseconds of a clock that never goes back; for tests.
  public init(
    backend: any GenBackend, registry: ModelRegistry? = nil,
    clock: @escaping @Sendable () -> UInt64 = { MonotonicTime.nanoseconds() }
  ) {
    self.backend = backend
    self.registry = registry
    nowNs = clock
  }

  // MARK: - Model

  /// Whether a model is loaded; true during a generation too, without waiting for it.
  public var isModelLoaded: Bool { occupancy.model != nil }

  /// The id of the loaded model; nil without one.
  public var currentModelID: String? { occupancy.model?.id }

  /// What the loaded model can do; empty without one.
  public var capabilities: Set<Capability> { occupancy.model?.info.capabilities ?? [] }

  /// The sizes that may be asked for; empty without a model.
  public var supportedSizes: [ImageSize] {
    occupancy.model.map { DiffusionOptionsValidator.sizes(of: $0.info, variant: $0.configuration.modelVariant) } ?? []
  }

  /// Loads a model in place of the one that is loaded.
  ///
  /// When it fails, everything stays as it was: the old model, if there was one, can still be used. Both are in memory for
  /// a moment; call ``unload()`` first where that's too much.
  ///
  /// - Throws: ``SDKError``: `modelNotFound`, `storageFailed` when the registry can't be read, `modelLoadFailed` (a checker that is asked for and absent, a missing part),
  ///   `outOfMemory`, `busy`, `cancelled`.
  public func load(modelPath: String, modelId: String, modelName: String, configuration: DiffusionConfiguration) async throws {
    let token = CancellationToken()
    try occupancy.claim(.loading)
    defer { occupancy.release() }
    do {
      let lease = try lease(modelId)
      let request = LoadRequest(
        path: ModelFolder.resolve(modelPath), variant: configuration.modelVariant.rawValue,
        safety: configuration.enableSafetyChecker ? .required : .off, reduceMemory: configuration.reduceMemory)
      let info = try await withTaskCancellationHandler {
        try await backend.load(request, control: GenerationControl(cancellation: token))
      } onCancel: {
        token.cancel()
      }
      do {
        try check(info, configuration: configuration, path: modelPath)
        if token.isCancelled || Task.isCancelled { throw SDKError(.cancelled, "the load was cancelled") }
      } catch {
        await backend.unload(info.id)
        throw error
      }
      let model = Model(info: info, id: modelId, name: modelName, configuration: configuration, lease: lease)
      if let old = occupancy.replace(by: model), old.info.id != info.id { await backend.unload(old.info.id) }
    } catch {
      throw SDKError(translating: error)
    }
  }

  /// The hold on a model's files; nil for one that isn't registered, whose files nobody deletes there.
  private func lease(_ id: String) throws(RegistryError) -> ModelLease? {
    do { return try registry?.lease(id) } catch {
      if error.code == .modelNotFound { return nil }
      throw error
    }
  }

  private func check(_ info: ModelInfo, configuration: DiffusionConfiguration, path: String) throws(SDKError) {
    guard info.capabilities.contains(.textToImage) else {
      throw SDKError(.modelLoadFailed, "\(path): expected an image model, found \(info.variant)")
    }
    guard !configuration.enableSafetyChecker || info.capabilities.contains(.safetyChecker) else {
      throw SDKError(
        .modelLoadFailed,
        "\(path): a safety checker was asked for, but the model has none; use a model with one or turn the checker off")
    }
    guard !DiffusionOptionsValidator.sizes(of: info, variant: configuration.modelVariant).isEmpty else {
      throw SDKError(
        .modelLoadFailed,
        "\(path): expected a model for \(configuration.modelVariant.recommendedSizes.map(\.description).joined(separator: " or ")) (\(configuration.modelVariant.rawValue)), found one for \(info.nativeSizes.map(\.description).joined(separator: ", "))"
      )
    }
  }

  /// Frees the model; does nothing without one.
  ///
  /// A running generation is cancelled and waited for.
  ///
  /// - Throws: ``SDKError`` `busy` while a model is being loaded.
  public func unload() async throws {
    try await occupancy.unload { await backend.unload($0.info.id) }
  }

  // MARK: - Images

  /// Makes images.
  ///
  /// The handler is called once a step, in order, on a thread of the engine; it may block that thread, and it may cancel.
  /// After it returned false, or the call was cancelled in another way, it isn't called again.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `invalidInput`, `notSupported`, `busy`, `cancelled`, `processingFailed`,
  ///   `outOfMemory`.
  public func generate(
    prompt: String, options: DiffusionGenerationOptions,
    progressHandler: @escaping @Sendable (DiffusionProgressUpdate) -> Bool = { _ in true }
  ) async throws -> DiffusionResult {
    let start = nowNs()
    let run = DiffusionRun(imageCount: options.imageCount, handler: progressHandler)
    let model = try occupancy.claimModel(
      for: run, orThrow: SDKError(.notInitialized, "no diffusion model is loaded; load one first"))
    defer {
      run.close()
      occupancy.release()
    }
    let request = try DiffusionOptionsValidator(model: model.info, configuration: model.configuration)
      .request(prompt: prompt, options: options)
    let result: ImageResult
    do {
      result = try await withTaskCancellationHandler {
        try await backend.generateImages(request, control: run.control)
      } onCancel: {
        run.token.cancel()
      }
    } catch {
      // Whatever came out of an engine that was told to stop, stopping is what was wanted.
      throw run.token.isCancelled ? SDKError(.cancelled, "the generation was cancelled") : SDKError(translating: error)
    }
    if run.token.isCancelled { throw SDKError(.cancelled, "the generation was cancelled") }
    let images = try encode(result, request: request, configuration: model.configuration)
    guard let size = request.size else { throw SDKError(.processingFailed, "the request has no size") }
    var warnings = run.warnings
    if result.droppedTokens > 0, warnings.isEmpty {
      warnings.append("prompt: \(result.droppedTokens) tokens beyond the encoder's window were dropped; shorten it")
    }
    return DiffusionResult(
      images: images, width: UInt32(size.width), height: UInt32(size.height),
      generationTimeMs: max(1, (nowNs() - start + 999_999) / 1_000_000), scheduler: result.scheduler, stepsRun: result.steps,
      guidanceScale: result.guidanceScale, warnings: warnings)
  }

  /// Checks what the engine made, and turns it into files.
  private func encode(_ result: ImageResult, request: ImageRequest, configuration: DiffusionConfiguration) throws(SDKError)
    -> [DiffusionImage]
  {
    guard result.images.count == request.imageCount else {
      throw SDKError(.processingFailed, "the engine made \(result.images.count) images, \(request.imageCount) were asked for")
    }
    var images: [DiffusionImage] = []
    for image in result.images {
      guard ImageSize(width: image.bitmap.width, height: image.bitmap.height) == request.size else {
        throw SDKError(
          .processingFailed,
          "the engine made an image of \(image.bitmap.width)x\(image.bitmap.height), \(request.size?.description ?? "") was asked for"
        )
      }
      // Closed when in doubt: a checker that should have spoken and didn't isn't taken for a pass.
      guard !configuration.enableSafetyChecker || image.safety != .unchecked else {
        throw SDKError(.processingFailed, "the safety checker is on, but the engine returned an unchecked image")
      }
      guard let safety = DiffusionSafety(rawValue: image.safety.rawValue), let seed = Int64(exactly: image.seed) else {
        throw SDKError(.processingFailed, "the engine returned an outcome or a seed that can't be told: \(image.seed)")
      }
      do {
        let data = safety == .filtered ? nil : Data(try PNGFile.encode(image.bitmap))
        images.append(DiffusionImage(data: data, safety: safety, seedUsed: seed))
      } catch {
        throw SDKError(.processingFailed, error.description)
      }
    }
    return images
  }

  /// Makes images, told as a stream; dropping the stream cancels.
  public func stream(prompt: String, options: DiffusionGenerationOptions) -> AsyncThrowingStream<DiffusionEvent, any Error> {
    // At most one event a step is waiting, so the buffer is bounded by the steps.
    AsyncThrowingStream { continuation in
      let task = Task {
        continuation.yield(.started)
        do {
          let result = try await self.generate(prompt: prompt, options: options) { update in
            if case .terminated = continuation.yield(.progress(update)) { return false }
            return true
          }
          continuation.yield(.completed(result))
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { termination in
        if case .cancelled = termination { task.cancel() }
      }
    }
  }

  /// Cancels the running generation; returns at once and does nothing when there's none.
  ///
  /// A generation that starts later isn't touched.
  public func cancel() { occupancy.cancelGeneration() }
}
