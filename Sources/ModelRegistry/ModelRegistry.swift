public import Foundation
import Synchronization

/// Models that are known, and those that are here: a folder with an index, shared by all processes that open it.
///
/// Registering, listing and deleting read and write small files at once; downloads run on their own and may be watched by
/// several parties. A registry of the same folder in another process, or a later one, sees the same models.
public final class ModelRegistry: Sendable {
  /// The store's folder.
  public let folder: URL
  /// Frameworks whose models aren't downloaded, with the reason.
  public let refusals: [ModelFramework: String]
  let layout: StoreLayout
  let index: RegistryIndex
  private let transport: any ModelTransport
  private let policy: DownloadPolicy
  private let operations = Mutex<[String: DownloadOperation]>([:])

  /// Opens a store; nothing is made on the disk before something is registered.
  ///
  /// - Parameters:
  ///   - folder: The store's folder.
  ///   - transport: How files are brought over the network.
  ///   - policy: How patient downloads are.
  ///   - refusals: Frameworks whose models can't be run here, with the reason that a download is refused with.
  public init(
    folder: URL = ModelRegistry.defaultFolder(), transport: any ModelTransport = NetworkTransport(),
    policy: DownloadPolicy = DownloadPolicy(), refusals: [ModelFramework: String] = ModelRegistry.standardRefusals
  ) {
    self.folder = folder
    self.refusals = refusals
    layout = StoreLayout(root: folder)
    index = RegistryIndex(layout: layout)
    self.transport = transport
    self.policy = policy
  }

  /// CoreML packages, which only Apple's frameworks run.
  public static let standardRefusals: [ModelFramework: String] = [.coreml: ModelLayout.coreMLReason]

  /// `GENBENCH_MODELS`, or the place for such things on this system.
  public static func defaultFolder(environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
    if let folder = environment["GENBENCH_MODELS"], !folder.isEmpty { return URL(fileURLWithPath: folder) }
    #if canImport(Darwin)
      let places = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
      let base = places.first ?? FileManager.default.temporaryDirectory
    #else
      let home = environment["HOME"] ?? NSHomeDirectory()
      let base =
        environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
        ?? URL(fileURLWithPath: home).appendingPathComponent(".cache")
    #endif
    return base.appendingPathComponent("genbench/models")
  }

  // MARK: - Registering

  /// Registers a model, in place of one of the same id: the last one wins.
  ///
  /// What was downloaded for the same files stays downloaded.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`.
  @discardableResult public func register(_ registration: ModelRegistration) throws(RegistryError) -> ModelDescriptor {
    try index.update { models throws(RegistryError) in
      if let place = models.firstIndex(where: { $0.id == registration.id }) {
        models[place] = registration
      } else {
        models.append(registration)
      }
    }
    return InstalledModel(registration, layout).descriptor
  }

  /// Registers a model that is one file, one archive or one folder.
  ///
  /// - Throws: ``RegistryError`` `invalidInput`, `storageFailed`.
  @discardableResult public func registerModel(
    id: String, name: String, url: URL, framework: ModelFramework, modality: ModelModality = .language,
    artifactType: ModelArtifactType? = nil, memoryRequirement: Int? = nil
  ) throws(RegistryError) -> ModelDescriptor {
    try register(
      ModelRegistration(
        id: id, name: name, url: url, framework: framework, modality: modality, artifactType: artifactType,
        memoryRequirement: memoryRequirement))
  }

  /// Registers a model of several files, the main one first.
  ///
  /// - Throws: ``RegistryError`` `invalidInput`, `storageFailed`.
  @discardableResult public func registerMultiFileModel(
    id: String, name: String, files: [ModelFileDescriptor], framework: ModelFramework, modality: ModelModality = .multimodal,
    memoryRequirement: Int? = nil
  ) throws(RegistryError) -> ModelDescriptor {
    try register(
      ModelRegistration(
        id: id, name: name, framework: framework, modality: modality, artifactType: .multiFile, files: files,
        memoryRequirement: memoryRequirement))
  }

  /// All registered models, in the order of registration.
  ///
  /// - Throws: ``RegistryError`` `storageFailed` when the index is damaged.
  public func availableModels() throws(RegistryError) -> [ModelDescriptor] {
    try index.load().map { InstalledModel($0, layout).descriptor }
  }

  /// A registered model.
  ///
  /// - Throws: ``RegistryError`` `modelNotFound`, `storageFailed`.
  public func model(_ id: String) throws(RegistryError) -> ModelDescriptor {
    InstalledModel(try registration(id), layout).descriptor
  }

  func registration(_ id: String) throws(RegistryError) -> ModelRegistration {
    guard let found = try index.load().first(where: { $0.id == id }) else {
      throw RegistryError(.modelNotFound, "model '\(id)' isn't registered; register it first")
    }
    return found
  }

  // MARK: - Downloading

  /// Downloads a model, or waits for a download of it that is on its way; returns at once when it's here.
  ///
  /// - Parameter progress: Told how much is done, 0...1, never going back, 1 at the end and only on success; called in order
  ///   before this returns.
  /// - Throws: ``RegistryError``. Cancelling the task cancels the download, unless others wait for it too.
  @discardableResult public func downloadModel(
    _ id: String, progress: @Sendable (Double) -> Void = { _ in }
  ) async throws(RegistryError) -> ModelDescriptor {
    for await event in try downloadEvents(id) {
      switch event.kind {
      case .progress(let update): progress(update.fraction)
      case .completed(let model):
        progress(1)
        return model
      case .failed(let error): throw error
      default: break
      }
    }
    // The caller's task was cancelled, or the download.
    if let operation = operations.withLock({ $0[id] }), operation.isClosed { await operation.ended() }
    throw RegistryError(.cancelled, "the download of '\(id)' was cancelled")
  }

  /// Starts or joins a download and tells all that happens from its beginning on; the last event is a terminal one.
  ///
  /// Leaving the stream early cancels the download, unless others watch it.
  ///
  /// - Throws: ``RegistryError`` `modelNotFound`, `notSupported`, `storageFailed`.
  public func downloadEvents(_ id: String) throws(RegistryError) -> AsyncStream<DownloadEvent> {
    let registration = try registration(id)
    if let reason = refusals[registration.framework], !InstalledModel(registration, layout).isComplete {
      throw RegistryError(.notSupported, "\(id): \(reason)")
    }
    while true {
      let operation = operations.withLock { operations in
        if let running = operations[id], !running.isClosed { return running }
        let started = DownloadOperation(after: operations[id]) { [self] operation in
          try await install(id, operation)
        }
        operations[id] = started
        return started
      }
      // It may have been cancelled in between.
      if let stream = operation.watch() { return stream }
    }
  }

  private func install(_ id: String, _ operation: DownloadOperation) async throws -> ModelDescriptor {
    let registration = try registration(id)
    if registration.artifactType == .builtIn {
      let model = InstalledModel(registration, layout)
      guard model.isComplete else {
        throw RegistryError(.modelNotFound, "\(registration.files[0].url.path): the model's files aren't there any more")
      }
      return model.descriptor
    }
    if !InstalledModel(registration, layout).isComplete {
      try await ModelInstaller(
        registration: registration, layout: layout, transport: transport, policy: policy, tell: { operation.emit($0) }
      ).run()
    }
    let model = InstalledModel(registration, layout)
    guard model.isComplete else {
      throw RegistryError(.storageFailed, "\(id): its files vanished while they were installed; download it again")
    }
    return model.descriptor
  }

  /// Cancels a download for all who wait for it; does nothing without one.
  public func cancelDownload(_ id: String) { operations.withLock { $0[id] }?.cancel() }

  func isDownloading(_ id: String) -> Bool { operations.withLock { $0[id].map { !$0.isClosed } ?? false } }
}
