import Checkpoints
public import Foundation

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
  /// Bytes of deleted models whose files are still there, as their deletion was broken off.
  public let trashBytes: Int
  /// Bytes free at the store; nil when the system doesn't tell.
  public let freeBytes: Int?
  /// Bytes of downloaded models.
  public var modelBytes: Int { models.reduce(0) { $0.addingClamped($1.bytes) } }
}

/// What a look at a model's files found.
public struct VerificationReport: Sendable, Hashable {
  /// What may be wrong with a file.
  public enum Problem: String, Sendable, Hashable, Codable, CaseIterable {
    case missing
    case wrongSize
    case wrongChecksum
    /// The content is as it was installed, but no model: empty, too small, a page, a pointer.
    case foreignContent
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
    layout.trash.sweep()
    for place in [layout.model(id), layout.partial(id)] where FileTree.exists(place) { try layout.trash.take(place) }
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
      models: models, partialBytes: FileTree.bytes(below: layout.partials),
      trashBytes: FileTree.bytes(below: layout.trash.folder),
      freeBytes: FileTree.freeBytes(at: FileTree.isFolder(folder) ? folder : FileManager.default.temporaryDirectory))
  }

  /// What broken-off work has left in the store: deleted models, downloads of models that aren't registered any more or are
  /// complete, half-written lists.
  ///
  /// - Throws: ``RegistryError`` `storageFailed` when the index can't be read.
  public func leftovers() throws(RegistryError) -> [URL] {
    let wanted = Set(
      try index.load().filter { !InstalledModel($0, layout).isComplete }.map { layout.partial($0.id).lastPathComponent })
    let partials = ((try? FileManager.default.contentsOfDirectory(atPath: layout.partials.path)) ?? []).sorted()
    return layout.trash.leftovers
      + partials.filter { !wanted.contains($0) }.map { layout.partials.appendingPathComponent($0) }
      + AtomicFile.leftovers(in: layout.root)
  }

  /// Removes what ``leftovers()`` found; downloads that another process works on stay.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`.
  public func removeLeftovers() throws(RegistryError) {
    layout.trash.sweep()
    let places = try leftovers()
    for place in places {
      if place.deletingLastPathComponent().path == layout.partials.path {
        // Whoever downloads holds this lock.
        guard let lock = try FileLock.take(layout.installLock(slug: place.lastPathComponent)) else { continue }
        defer { withExtendedLifetime(lock) {} }
        try layout.trash.take(place)
      } else {
        _ = AtomicFile.removeLeftover(place)
      }
    }
  }

  /// Looks at files that stay where they are; there's nothing to compare them with but what they should be.
  private func verifyInPlace(_ registration: ModelRegistration) throws(RegistryError) -> VerificationReport {
    var problems: [String: VerificationReport.Problem] = [:]
    var (count, bytes) = (0, 0)
    for file in registration.files {
      guard InstalledModel.isThere(file.url) else {
        if !file.isOptional { problems[file.filename] = .missing }
        continue
      }
      let isFolder = FileTree.isFolder(file.url)
      let names = isFolder ? try FileTree.sourceFiles(below: file.url) : [""]
      for name in names {
        let url = isFolder ? file.url.appendingPathComponent(name) : file.url
        let size = FileTree.size(url) ?? 0
        let start = (try? FileHandle(forReadingFrom: url).read(upToCount: ForeignContent.startLength)) ?? Data()
        let label = isFolder ? "\(file.filename)/\(name)" : file.filename
        count += 1
        bytes = bytes.addingClamped(size)
        if !isFolder && size == 0 || ContentCheck.problem([UInt8](start), byteCount: size, path: url.path) != nil {
          problems[label] = .foreignContent
        }
      }
    }
    return VerificationReport(fileCount: count, bytes: bytes, problems: problems)
  }

  /// Reads all files of a model and compares them with what was installed.
  ///
  /// - Parameter progress: Told how much is done, 0...1.
  /// - Throws: ``RegistryError`` `modelNotFound`, also when it isn't downloaded; `cancelled`.
  public func verifyModel(_ id: String, progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws(RegistryError)
    -> VerificationReport
  {
    let registration = try registration(id)
    if registration.artifactType == .builtIn { return try verifyInPlace(registration) }
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
          if sum.sha256 != file.sha256 {
            problems[file.path] = .wrongChecksum
          } else if file.role == .primary && sum.bytes == 0
            || ContentCheck.problem(sum.head, byteCount: sum.bytes, path: file.path) != nil
          {
            problems[file.path] = .foreignContent
          }
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
