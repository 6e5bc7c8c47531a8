public import Foundation
public import ModelRegistry

extension RunAnywhere {
  /// Registers a model that is one file, one archive or one folder; it's listed when this returns.
  ///
  /// - Returns: The model, or why it can't be registered; who doesn't look learns it from ``downloadModel(_:progress:)``,
  ///   which then doesn't find the model.
  @discardableResult public static func registerModel(
    id: String, name: String, url: URL, framework: ModelFramework, modality: ModelModality = .language,
    artifactType: ModelArtifactType? = nil, memoryRequirement: Int? = nil
  ) -> Result<ModelDescriptor, SDKError> {
    Result { () throws(SDKError) in
      try models.register(
        id: id, name: name, url: url, framework: framework, modality: modality, artifactType: artifactType,
        memoryRequirement: memoryRequirement)
    }
  }

  /// Registers a model of several files, the main one first; a vision-language model's projector is the second.
  ///
  /// - Returns: As ``registerModel(id:name:url:framework:modality:artifactType:memoryRequirement:)``.
  @discardableResult public static func registerMultiFileModel(
    id: String, name: String, files: [ModelFileDescriptor], framework: ModelFramework, modality: ModelModality = .multimodal,
    memoryRequirement: Int? = nil
  ) -> Result<ModelDescriptor, SDKError> {
    Result { () throws(SDKError) in
      try models.registerMultiFile(
        id: id, name: name, files: files, framework: framework, modality: modality, memoryRequirement: memoryRequirement)
    }
  }

  /// All registered models.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `storageFailed`.
  public static func availableModels() async throws -> [ModelDescriptor] { try models.available() }

  /// Downloads a model; see ``ModelLibrary/download(_:progress:)``.
  public static func downloadModel(_ id: String, progress: @Sendable (Double) -> Void = { _ in }) async throws {
    try await models.download(id, progress: progress)
  }

  /// Cancels a download; does nothing without one.
  public static func cancelDownload(_ id: String) { models.cancelDownload(id) }

  /// Deletes a model's files; see ``ModelLibrary/delete(_:)``.
  public static func deleteStoredModel(_ id: String) async throws { try models.delete(id) }

  /// What downloaded models take.
  ///
  /// - Throws: ``SDKError``: `notInitialized`, `storageFailed`.
  public static func storageInfo() async throws -> StorageReport { try models.storage() }
}
