public import Conformance
import Foundation
import ModelRegistry
public import RunAnywhere

extension RegistryImplementation {
  /// The documented calls of this repository's `RunAnywhere` for models; also the example for others.
  public static func runAnywhere(_ sdk: SDKInstance) -> RegistryImplementation {
    RegistryImplementation(
      capabilities: Set(RegistrySurface.Capability.allCases), labels: labelsOf,
      register: { registration in try await sdk.calls { try registerModel(registration) } },
      available: {
        try await sdk.calls {
          try await RunAnywhere.availableModels().map { model in
            RegistrySurface.Model(
              id: model.id, name: model.name, framework: model.framework.rawValue, modality: model.modality.rawValue,
              memory: model.memoryRequirement, downloadSize: model.downloadSize, localPath: model.localPath)
          }
        }
      },
      download: { id, progress in try await sdk.calls { try await RunAnywhere.downloadModel(id, progress: progress) } },
      events: { id in translated(try await sdk.calls { try RunAnywhere.models.downloadEvents(id) }) },
      cancelDownload: { id in await sdk.calls { RunAnywhere.cancelDownload(id) } },
      delete: { id in try await sdk.calls { try await RunAnywhere.deleteStoredModel(id) } },
      unregister: { id in try await sdk.calls { try RunAnywhere.models.unregister(id) } },
      storage: {
        try await sdk.calls {
          Dictionary(try await RunAnywhere.storageInfo().models.map { ($0.id, $0.bytes) }, uniquingKeysWith: { $1 })
        }
      },
      load: { id in
        try await sdk.calls {
          let model = try await RunAnywhere.availableModels().first { $0.id == id }
          if let model, model.modality == .multimodal { return try await RunAnywhere.loadVLMModel(model: model) }
          try await RunAnywhere.loadDiffusionModel(
            modelPath: model?.localPath?.path ?? "", modelId: id, modelName: model?.name ?? id,
            configuration: DiffusionConfiguration(enableSafetyChecker: false))
        }
      },
      isLoaded: { id in
        await sdk.calls {
          let (image, vision) = (await RunAnywhere.currentDiffusionModelId, await RunAnywhere.currentVLMModelId)
          return id == image || id == vision
        }
      },
      unload: { id in
        try await sdk.calls {
          if await RunAnywhere.currentVLMModelId == id { return try await RunAnywhere.unloadVLMModel() }
          try await RunAnywhere.unloadDiffusionModel()
        }
      },
      failure: { SDKFailure(translating: $0) })
  }
}

/// A vision-language model's are those of the documentation; an archive's aren't CoreML's, which can't be run here.
private func labelsOf(_ kind: RegistrySurface.Kind) -> (framework: String, modality: String) {
  kind == .multiFile ? ("llamaCpp", "multimodal") : ("diffusers", "imageGeneration")
}

private func registerModel(_ registration: RegistrySurface.Registration) throws {
  let labels = labelsOf(registration.kind)
  let (framework, modality) = (
    ModelFramework(rawValue: labels.framework) ?? .unknown, ModelModality(rawValue: labels.modality) ?? .language
  )
  func several() throws {
    let files = try registration.files.map { file in
      ModelFileDescriptor(
        url: try url(file), filename: file.name, sizeBytes: file.bytes, sha256: file.sha256, isOptional: file.isOptional)
    }
    _ = try RunAnywhere.registerMultiFileModel(
      id: registration.id, name: registration.name, files: files, framework: framework, modality: modality,
      memoryRequirement: registration.memory
    ).get()
  }
  if registration.kind == .multiFile { return try several() }
  guard let file = registration.files.first else { throw SDKError(.invalidInput, "no file to register") }
  // The one-URL form has no place for a checksum; a set of one file has.
  if file.sha256 != nil || file.bytes != nil { return try several() }
  let type: ModelArtifactType =
    switch registration.kind {
    case .zip: .archive(.zip, structure: .nestedDirectory)
    case .builtIn: .builtIn
    default: .singleFile
    }
  _ = try RunAnywhere.registerModel(
    id: registration.id, name: registration.name, url: try url(file), framework: framework, modality: modality,
    artifactType: type, memoryRequirement: registration.memory
  ).get()
}

/// The documented form takes a `URL`, so that a text which is none can't be given.
private func url(_ file: RegistrySurface.File) throws -> URL {
  guard let url = URL(string: file.url) else { throw SDKError(.invalidInput, "'\(file.url)' is no address") }
  return url
}

private func translated(_ events: AsyncStream<DownloadEvent>) -> AsyncStream<RegistrySurface.Event> {
  let (stream, continuation) = AsyncStream<RegistrySurface.Event>.makeStream()
  let task = Task {
    for await event in events {
      let kind: RegistrySurface.Event.Kind =
        switch event.kind {
        case .started: .started
        case .progress(let progress): .progress(bytesDone: progress.bytesDone, bytesTotal: progress.bytesTotal)
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        case .retrying, .waiting, .note: .other
        }
      continuation.yield(RegistrySurface.Event(operation: event.operation, sequence: event.sequence, kind: kind))
    }
    continuation.finish()
  }
  continuation.onTermination = { _ in task.cancel() }
  return stream
}
