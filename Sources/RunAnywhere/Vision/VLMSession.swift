import Foundation
public import GenBackend
public import ModelRegistry
public import Tensors

/// A loaded vision-language model and the one answer that may be made by it.
///
/// ``RunAnywhere`` has a shared one; make your own to have several, each over its own engine. All members may be used from
/// any thread; none of them holds up a thread of Swift's pool.
public final class VLMSession: Sendable {
  private struct Model {
    var info: ModelInfo
    var id: String
    /// Keeps its files from being deleted.
    var lease: ModelLease?
  }

  private let backend: any GenBackend
  private let registry: ModelRegistry?
  private let nowNs: @Sendable () -> UInt64
  private let occupancy = ModelOccupancy<Model, VLMRun>(generating: "an answer is being made")

  /// Makes a session without a model.
  ///
  /// - Parameters:
  ///   - backend: The engine.
  ///   - registry: Where models must be registered; nil takes any descriptor.
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

  /// Loads a model in place of the one that is loaded.
  ///
  /// The main file and the projector are told apart by their roles, else by their order. When it fails, everything stays as
  /// it was.
  ///
  /// - Throws: ``SDKError``: `modelNotFound` when it's not registered or not downloaded, `invalidInput` when its framework
  ///   isn't `llamaCpp` or its modality not `multimodal`, `modelLoadFailed` when a file is missing, damaged, or the other
  ///   one's, `outOfMemory`, `busy`, `cancelled`.
  public func load(model descriptor: ModelDescriptor) async throws {
    let token = CancellationToken()
    try await occupancy.claimWhenFree(.loading)
    defer { occupancy.release() }
    do {
      let (files, lease) = try locate(descriptor)
      let request = LoadRequest(path: files.main.path, projectorPath: files.projector.path)
      let info = try await withTaskCancellationHandler {
        try await backend.load(request, control: GenerationControl(cancellation: token))
      } onCancel: {
        token.cancel()
      }
      do {
        guard info.capabilities.contains(.imageUnderstanding) else {
          throw SDKError(
            .modelLoadFailed, "\(descriptor.id): loaded without eyes; expected a vision-language model with its projector")
        }
        if token.isCancelled || Task.isCancelled { throw SDKError(.cancelled, "the load was cancelled") }
      } catch {
        await backend.unload(info.id)
        throw error
      }
      let old = occupancy.replace(by: Model(info: info, id: descriptor.id, lease: lease))
      if let old, old.info.id != info.id { await backend.unload(old.info.id) }
    } catch {
      throw SDKError(translating: error)
    }
  }

  /// The two files of a model, as the registry has them now, and the hold on them.
  private func locate(_ descriptor: ModelDescriptor) throws -> (files: (main: URL, projector: URL), lease: ModelLease?) {
    guard descriptor.framework == .llamaCpp, descriptor.modality == .multimodal else {
      throw SDKError(
        .invalidInput,
        "\(descriptor.id): expected framework llamaCpp and modality multimodal, found \(descriptor.framework.rawValue) and \(descriptor.modality.rawValue)"
      )
    }
    var model = descriptor
    var lease: ModelLease?
    if let registry {
      model = try registry.model(descriptor.id)
      lease = try registry.lease(descriptor.id)
    }
    guard let path = model.localPath else {
      throw SDKError(.modelNotFound, "\(model.id): not downloaded; call downloadModel first")
    }
    let main = model.localFile(.primary) ?? path
    guard let projector = model.localFile(.visionProjector) else {
      throw SDKError(
        .modelLoadFailed,
        "\(model.id): it has no projector; register both files with registerMultiFileModel, the projector second")
    }
    return ((main, projector), lease)
  }

  /// Frees the model; does nothing without one.
  ///
  /// A running generation is cancelled and waited for.
  ///
  /// - Throws: ``SDKError`` `busy` while a model is being loaded.
  public func unload() async throws {
    try await occupancy.unload { await backend.unload($0.info.id) }
  }

  // MARK: - Answers

  /// Starts an answer about an image.
  ///
  /// Everything that can be refused is refused here; the text comes by the result's stream.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `invalidImage`, `invalidInput` (an empty prompt, `maxTokens` below 1, options
  ///   out of range), `busy`.
  public func processImageStream(
    image: VLMImage, prompt: String, maxTokens: Int, options: VLMGenerationOptions = VLMGenerationOptions()
  ) async throws -> VLMStreamingResult {
    guard isModelLoaded else { throw SDKError(.notInitialized, "no vision-language model is loaded; load one first") }
    guard maxTokens >= 1 else { throw SDKError(.invalidInput, "maxTokens: expected at least 1, found \(maxTokens)") }
    guard prompt.contains(where: { !$0.isWhitespace }) else {
      throw SDKError(.invalidInput, "prompt: expected some text, found none")
    }
    let sampling = try options.sampling()
    let run = VLMRun(nowNs: nowNs)
    let bitmap = try image.bitmap()
    try await occupancy.claimWhenFree(.generating(run))
    guard let model = occupancy.model else {
      occupancy.release()
      throw SDKError(.notInitialized, "the vision-language model was unloaded; load one first")
    }
    let request = TextRequest(
      model: model.info.id, prompt: prompt, image: bitmap, maxTokens: maxTokens, sampling: sampling)
    Task {
      do {
        let result = try await backend.generateText(request, control: run.control)
        occupancy.release()
        if run.isCancelled { run.fail(VLMRun.cancelledError) } else { run.finish(result) }
      } catch {
        occupancy.release()
        run.fail(run.isCancelled ? VLMRun.cancelledError : SDKError(translating: error))
      }
    }
    return VLMStreamingResult(run: run)
  }

  /// Makes an answer and gives it as a whole.
  ///
  /// - Throws: As ``processImageStream(image:prompt:maxTokens:options:)``, and what its stream throws.
  public func processImage(
    image: VLMImage, prompt: String, maxTokens: Int, options: VLMGenerationOptions = VLMGenerationOptions()
  ) async throws -> (text: String, metrics: VLMMetrics) {
    let result = try await processImageStream(image: image, prompt: prompt, maxTokens: maxTokens, options: options)
    var text = ""
    for try await piece in result.stream { text += piece }
    return (text, await result.metrics)
  }

  /// Cancels the running generation; returns at once and does nothing when there's none.
  ///
  /// Its stream ends with `cancelled`. The next call waits until the engine has let go, and isn't touched.
  public func cancel() { occupancy.cancelGeneration() }
}
