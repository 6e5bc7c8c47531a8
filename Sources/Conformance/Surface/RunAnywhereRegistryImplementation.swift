import Foundation
import ModelRegistry
public import RunAnywhere
import Synchronization

/// The adapter for the models of this repository's own `RunAnywhere`; also the example for others.
public final class RunAnywhereRegistryImplementation: RegistryImplementation {
  private let models: ModelLibrary
  private let leases = Mutex<[String: ModelLease]>([:])

  /// Judges a library.
  public init(models: ModelLibrary) { self.models = models }

  /// All of them.
  public var capabilities: Set<RegistrySurface.Capability> { Set(RegistrySurface.Capability.allCases) }

  /// A vision-language model's are those of the documentation; an archive's aren't CoreML's, which can't be run here.
  public func labels(_ kind: RegistrySurface.Kind) -> (framework: String, modality: String) {
    kind == .multiFile ? ("llamaCpp", "multimodal") : ("diffusers", "imageGeneration")
  }

  /// Registers a model.
  public func register(_ registration: RegistrySurface.Registration) async throws {
    let labels = labels(registration.kind)
    let (framework, modality) = (
      ModelFramework(rawValue: labels.framework) ?? .unknown, ModelModality(rawValue: labels.modality) ?? .language
    )
    if registration.kind == .multiFile {
      let files = try registration.files.map { file in
        ModelFileDescriptor(
          url: try url(file), filename: file.name, sizeBytes: file.bytes, sha256: file.sha256, isOptional: file.isOptional)
      }
      try models.registerMultiFile(
        id: registration.id, name: registration.name, files: files, framework: framework, modality: modality,
        memoryRequirement: registration.memory)
      return
    }
    guard let file = registration.files.first else { throw SDKError(.invalidInput, "no file to register") }
    let type: ModelArtifactType =
      switch registration.kind {
      case .zip: .archive(.zip, structure: .nestedDirectory)
      case .builtIn: .builtIn
      default: .singleFile
      }
    if file.sha256 == nil, file.bytes == nil {
      try models.register(
        id: registration.id, name: registration.name, url: try url(file), framework: framework, modality: modality,
        artifactType: type, memoryRequirement: registration.memory)
    } else {
      // The one-URL form has no place for a checksum; a set of one file has.
      try models.registerMultiFile(
        id: registration.id, name: registration.name,
        files: [ModelFileDescriptor(url: try url(file), filename: file.name, sizeBytes: file.bytes, sha256: file.sha256)],
        framework: framework, modality: modality, memoryRequirement: registration.memory)
    }
  }

  /// The documented form takes a `URL`, so that a text which is none can't be given.
  private func url(_ file: RegistrySurface.File) throws -> URL {
    guard let url = URL(string: file.url) else { throw SDKError(.invalidInput, "'\(file.url)' is no address") }
    return url
  }

  /// All registered models.
  public func available() async throws -> [RegistrySurface.Model] {
    try models.available().map { model in
      RegistrySurface.Model(
        id: model.id, name: model.name, framework: model.framework.rawValue, modality: model.modality.rawValue,
        memory: model.memoryRequirement, downloadSize: model.downloadSize, localPath: model.localPath)
    }
  }

  /// Downloads a model.
  public func download(_ id: String, progress: @escaping @Sendable (Double) -> Void) async throws {
    try await models.download(id, progress: progress)
  }

  /// Starts or joins a download.
  public func events(_ id: String) async throws -> AsyncStream<RegistrySurface.Event> {
    let events = try models.downloadEvents(id)
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

  /// Cancels a download.
  public func cancelDownload(_ id: String) async { models.cancelDownload(id) }
  /// Deletes a model's files.
  public func delete(_ id: String) async throws { try models.delete(id) }
  /// Forgets a model.
  public func unregister(_ id: String) async throws { try models.unregister(id) }

  /// Bytes of each downloaded model.
  public func storage() async throws -> [String: Int] {
    Dictionary(try models.storage().models.map { ($0.id, $0.bytes) }, uniquingKeysWith: { $1 })
  }

  /// Takes the hold on a model's files that a session has while a model is loaded.
  public func load(_ id: String) async throws {
    guard let lease = try models.registry?.lease(id) else { throw SDKError(.notInitialized, "no registry") }
    leases.withLock { $0[id] = lease }
  }

  /// Whether it has such a hold.
  public func isLoaded(_ id: String) async -> Bool { leases.withLock { $0[id] != nil } }
  /// Lets go of it.
  public func unload(_ id: String) async throws { leases.withLock { $0[id] = nil } }
  /// A thrown error by its code.
  public func failure(of error: any Error) -> Surface.Failure { Surface.Failure(translating: error) }
}
