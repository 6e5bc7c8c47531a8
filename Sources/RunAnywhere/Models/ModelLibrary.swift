public import Foundation
public import ModelRegistry

/// The models of an app: a registry, spoken to in the SDK's words.
public struct ModelLibrary: Sendable {
  /// The registry; nil before the SDK is configured, and then every call says so.
  public let registry: ModelRegistry?

  /// Makes a library.
  public init(registry: ModelRegistry?) { self.registry = registry }

  private func require() throws(SDKError) -> ModelRegistry {
    guard let registry else {
      throw SDKError(.notInitialized, "the SDK has no store of models; call RunAnywhere.configure(backend:) first")
    }
    return registry
  }

  private func translated<Value>(_ body: () throws -> Value) throws(SDKError) -> Value {
    do { return try body() } catch { throw SDKError(translating: error) }
  }

  /// Registers a model that is one file, one archive or one folder; the last registration of an id wins.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `invalidInput`, `storageFailed`.
  @discardableResult public func register(
    id: String, name: String, url: URL, framework: ModelFramework, modality: ModelModality = .language,
    artifactType: ModelArtifactType? = nil, memoryRequirement: Int? = nil
  ) throws(SDKError) -> ModelDescriptor {
    let registry = try require()
    return try translated {
      try registry.registerModel(
        id: id, name: name, url: url, framework: framework, modality: modality, artifactType: artifactType,
        memoryRequirement: memoryRequirement)
    }
  }

  /// Registers a model of several files, the main one first; a vision-language model's projector is the second.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `invalidInput`, also for a multimodal model of another framework than
  ///   `llamaCpp` or without a second file; `storageFailed`.
  @discardableResult public func registerMultiFile(
    id: String, name: String, files: [ModelFileDescriptor], framework: ModelFramework, modality: ModelModality = .multimodal,
    memoryRequirement: Int? = nil
  ) throws(SDKError) -> ModelDescriptor {
    let registry = try require()
    if modality == .multimodal {
      guard framework == .llamaCpp else {
        throw SDKError(.invalidInput, "\(id): a multimodal model needs framework llamaCpp, found \(framework.rawValue)")
      }
      guard files.count >= 2 else {
        throw SDKError(
          .invalidInput, "\(id): a multimodal model has two files, the model and its projector; found \(files.count)")
      }
    }
    return try translated {
      try registry.registerMultiFileModel(
        id: id, name: name, files: files, framework: framework, modality: modality, memoryRequirement: memoryRequirement)
    }
  }

  /// All registered models.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `storageFailed`.
  public func available() throws(SDKError) -> [ModelDescriptor] {
    let registry = try require()
    return try translated { try registry.availableModels() }
  }

  /// Downloads a model, or waits for a download that is on its way; returns at once when it's here.
  ///
  /// - Parameter progress: Told how much is done, 0...1, in order, 1 at the end and only on success.
  /// - Throws: ``SDKError``: `notInitialized`, `modelNotFound`, `downloadFailed`, `httpError`, `checksumMismatch`,
  ///   `insufficientStorage`, `extractionFailed`, `notSupported`, `cancelled`, `storageFailed`.
  @discardableResult public func download(
    _ id: String, progress: @Sendable (Double) -> Void = { _ in }
  ) async throws(SDKError) -> ModelDescriptor {
    let registry = try require()
    do { return try await registry.downloadModel(id, progress: progress) } catch { throw SDKError(translating: error) }
  }

  /// Starts or joins a download and tells all that happens.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `modelNotFound`, `notSupported`.
  public func downloadEvents(_ id: String) throws(SDKError) -> AsyncStream<DownloadEvent> {
    let registry = try require()
    return try translated { try registry.downloadEvents(id) }
  }

  /// Cancels a download for all who wait for it; does nothing without one.
  public func cancelDownload(_ id: String) { registry?.cancelDownload(id) }

  /// Deletes a model's files; it stays registered.
  ///
  /// - Throws: ``SDKError``: `modelNotFound`, `busy` while it's loaded or being downloaded.
  public func delete(_ id: String) throws(SDKError) {
    let registry = try require()
    try translated { try registry.deleteModel(id) }
  }

  /// Forgets a model whose files aren't here.
  ///
  /// - Throws: ``SDKError``: `modelNotFound`, `busy` while its files are here.
  public func unregister(_ id: String) throws(SDKError) {
    let registry = try require()
    try translated { try registry.unregisterModel(id) }
  }

  /// What downloaded models take.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `storageFailed`.
  public func storage() throws(SDKError) -> StorageReport {
    let registry = try require()
    return try translated { try registry.storage() }
  }
}
