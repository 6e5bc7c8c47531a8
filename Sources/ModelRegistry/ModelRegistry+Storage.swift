import Foundation

/// What a store takes.
public struct StorageReport: Sendable, Hashable {
  /// One model's share.
  public struct Model: Sendable, Hashable {
    /// Its id.
    public let id: String
    /// Bytes of its files.
    public let bytes: Int
  }

  /// Downloaded models; those that are built in take nothing and aren't listed.
  public let models: [Model]
  /// Bytes of downloads that aren't complete.
  public let partialBytes: Int
  /// Bytes free at the store; nil when the system doesn't tell.
  public let freeBytes: Int?
  /// Bytes of downloaded models.
  public var modelBytes: Int { models.reduce(0) { $0 + $1.bytes } }
}

/// What a look at a model's files found.
public struct VerificationReport: Sendable, Hashable {
  /// What may be wrong with a file.
  public enum Problem: String, Sendable, Hashable, Codable, CaseIterable {
    case missing
    case wrongSize
    case wrongChecksum
  }

  /// Files that were looked at.
  public let fileCount: Int
  /// Their bytes.
  public let bytes: Int
  /// What is wrong, by relative path; empty when all is well.
  public let problems: [String: Problem]
  /// Whether all is well.
  public var isIntact: Bool { problems.isEmpty }
}

extension ModelRegistry {
  /// Keeps a model's files from being deleted until the lease is let go.
  ///
  /// - Throws: ``RegistryError`` `modelNotFound`, `inUse` while they're being deleted.
  public func lease(_ id: String) throws(RegistryError) -> ModelLease {
    _ = try registration(id)
    try layout.prepare()
    guard let lock = try FileLock.take(layout.useLock(id), isShared: true) else {
      throw RegistryError(.inUse, "model '\(id)' is being deleted")
    }
    return ModelLease(lock)
  }

  /// Deletes a model's files, those of a download that isn't complete too; it stays registered.
  ///
  /// - Throws: ``RegistryError`` `modelNotFound`, `inUse` while it's loaded or being downloaded, `storageFailed`.
  public func deleteModel(_ id: String) throws(RegistryError) {
    _ = try registration(id)
    try layout.prepare()
    guard let install = try FileLock.take(layout.installLock(id)) else {
      throw RegistryError(.inUse, "model '\(id)' is being downloaded; cancel that first")
    }
    guard let use = try FileLock.take(layout.useLock(id)) else {
      throw RegistryError(.inUse, "model '\(id)' is loaded; unload it first")
    }
    defer { withExtendedLifetime((install, use)) {} }
    let target = layout.model(id)
    if FileTree.exists(target) {
      // Gone in one step, whatever happens while the files are removed.
      let old = layout.trash.appendingPathComponent(UUID().uuidString)
      try FileTree.move(target, to: old)
      try FileTree.remove(old)
    }
    try FileTree.remove(layout.partial(id))
  }

  /// Forgets a model.
  ///
  /// - Throws: ``RegistryError`` `modelNotFound`, `inUse` while its files are here: delete them first.
  public func unregisterModel(_ id: String) throws(RegistryError) {
    let registration = try registration(id)
    let hasFiles = registration.artifactType != .builtIn && FileTree.exists(layout.model(id))
    guard !hasFiles, !isDownloading(id) else {
      throw RegistryError(.inUse, "model '\(id)': its files are here; delete them first")
    }
    if let use = try FileLock.take(layout.useLock(id)) {
      withExtendedLifetime(use) {}
    } else {
      throw RegistryError(.inUse, "model '\(id)' is loaded; unload it first")
    }
    try index.update { $0.removeAll { $0.id == id } }
  }

  /// What the store takes; a model counts with the bytes that are on the disk.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`.
  public func storage() throws(RegistryError) -> StorageReport {
    var models: [StorageReport.Model] = []
    for registration in try index.load() where registration.artifactType != .builtIn {
      let model = InstalledModel(registration, layout)
      if model.isComplete { models.append(StorageReport.Model(id: registration.id, bytes: model.storedBytes)) }
    }
    return StorageReport(
      models: models, partialBytes: FileTree.bytes(below: layout.root.appendingPathComponent("partial")),
      freeBytes: FileTree.freeBytes(at: FileTree.isFolder(folder) ? folder : FileManager.default.temporaryDirectory))
  }

  /// Reads all files of a model and compares them with what was installed.
  ///
  /// - Parameter progress: Told how much is done, 0...1.
  /// - Throws: ``RegistryError`` `modelNotFound`, also when it isn't downloaded; `cancelled`.
  public func verifyModel(_ id: String, progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws(RegistryError)
    -> VerificationReport
  {
    let registration = try registration(id)
    guard registration.artifactType != .builtIn else {
      let missing = registration.files.filter { !$0.isOptional && !FileTree.exists($0.url) }
      return VerificationReport(
        fileCount: registration.files.count, bytes: 0,
        problems: Dictionary(missing.map { ($0.filename, .missing) }, uniquingKeysWith: { $1 }))
    }
    guard let receipt = InstalledModel(registration, layout).receipt else {
      throw RegistryError(.modelNotFound, "model '\(id)' isn't downloaded; there is nothing to verify")
    }
    let files = layout.files(id)
    do {
      return try await Blocking.run { stop in
        var problems: [String: VerificationReport.Problem] = [:]
        var done = 0
        for file in receipt.files {
          let url = files.appendingPathComponent(file.path)
          guard let size = FileTree.size(url) else {
            problems[file.path] = .missing
            continue
          }
          guard size == file.bytes else {
            problems[file.path] = .wrongSize
            continue
          }
          let sum = try LocalCopy.sum(url) { more in
            try stop.check()
            done += more
            progress(Double(done) / Double(max(receipt.bytes, 1)))
          }
          if sum.sha256 != file.sha256 { problems[file.path] = .wrongChecksum }
        }
        return VerificationReport(fileCount: receipt.files.count, bytes: receipt.bytes, problems: problems)
      }
    } catch let error as RegistryError {
      throw error
    } catch {
      throw RegistryError(.cancelled, "the verification of '\(id)' was cancelled")
    }
  }
}
