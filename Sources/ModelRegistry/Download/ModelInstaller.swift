import Checkpoints
import Foundation

/// Brings a model's files together, checks them, and puts them in place in one step.
struct ModelInstaller: Sendable {
  let registration: ModelRegistration
  let layout: StoreLayout
  let transport: any ModelTransport
  let policy: DownloadPolicy
  let tell: @Sendable (DownloadEvent.Kind) -> Void

  private var partial: URL { layout.partial(registration.id) }
  /// Where files are collected.
  private var collected: URL { partial.appendingPathComponent("files") }
  /// Where an archive is unpacked.
  private var unpacked: URL { partial.appendingPathComponent("unpacked") }
  /// What becomes the model's folder.
  private var staged: URL { partial.appendingPathComponent("install") }

  private var archive: (format: ArchiveFormat, structure: ArchiveStructure)? {
    if case .archive(let format, let structure) = registration.artifactType { return (format, structure) }
    return nil
  }

  /// Downloads and installs, unless that's done already.
  ///
  /// - Throws: ``RegistryError``, `CancellationError`. What was transferred is kept for the next attempt.
  func run() async throws {
    try layout.prepare()
    let lock = try await exclusive()
    defer { withExtendedLifetime(lock) {} }
    layout.trash.sweep()
    if InstalledModel(registration, layout).isComplete { return }
    if try finishEarlier() { return }
    try startFolder()
    let meter = ProgressMeter(files: registration.files, isArchive: archive != nil) { tell(.progress($0)) }
    if registration.artifactType == .folder {
      try install(try await copyFolder(meter), from: collected)
    } else {
      let files = try await collect(meter)
      if archive == nil {
        try install(try plainReceipt(files), from: collected)
      } else {
        try install(try await unpack(files, meter), from: unpacked)
      }
    }
    meter.finish()
  }

  /// Puts in place what an earlier attempt had ready when it was killed.
  private func finishEarlier() throws -> Bool {
    guard let receipt = InstallReceipt.read(staged.appendingPathComponent("receipt.json")),
      receipt.sourceKey == registration.sourceKey, receipt.isComplete(in: staged.appendingPathComponent("files"))
    else { return false }
    try putInPlace()
    return true
  }

  /// Waits until no other process works on the model.
  private func exclusive() async throws -> FileLock {
    var isTold = false
    while true {
      if let lock = try FileLock.take(layout.installLock(registration.id)) { return lock }
      if !isTold { tell(.waiting) }
      isTold = true
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Keeps what an earlier attempt brought, when it's of the same registration.
  private func startFolder() throws {
    let mark = partial.appendingPathComponent("source")
    let key = registration.sourceKey
    if FileManager.default.contents(atPath: mark.path) != Data(key.utf8) {
      try FileTree.remove(partial)
      try FileTree.makeFolder(partial)
      do { try AtomicFile.write(key, to: mark.path) } catch { throw RegistryError(.storageFailed, "\(error)") }
    }
    // Killed between two steps: all files are there, in the other place.
    let moved = staged.appendingPathComponent("files")
    if archive == nil, FileTree.exists(moved), !FileTree.exists(collected) { try FileTree.move(moved, to: collected) }
    try FileTree.makeFolder(collected)
    for place in [unpacked, staged] { try FileTree.remove(place) }
  }

  // MARK: - Files

  private func collect(_ meter: ProgressMeter) async throws -> [InstallReceipt.File] {
    let needed = try await sizes(meter)
    try checkSpace(needed)
    var files: [InstallReceipt.File] = []
    for (index, file) in registration.files.enumerated() {
      try Task.checkCancellation()
      let target = collected.appendingPathComponent(file.filename)
      let part = target.appendingPathExtension("part")
      try FileTree.makeFolder(target.deletingLastPathComponent())
      do {
        let sum = try await bring(file, index: index, target: target, part: part, meter)
        files.append(
          InstallReceipt.File(path: file.filename, bytes: sum.bytes, sha256: sum.sha256, role: registration.role(of: index)))
      } catch let error as RegistryError where file.isOptional && isAbsence(error) {
        tell(.note("\(file.filename) is optional and isn't there; left out"))
        meter.skip(index)
        for leftover in [part, part.appendingPathExtension("json")] { try FileTree.remove(leftover) }
      }
    }
    return files
  }

  private func isAbsence(_ error: RegistryError) -> Bool {
    error.httpStatus.map { (400..<500).contains($0) } ?? (error.code == .invalidInput)
  }

  private func place(_ path: String) throws(RegistryError) -> RelativePath {
    guard let relative = RelativePath(path) else {
      throw RegistryError(.invalidInput, "\(registration.id): '\(path)' is no name that can be stored")
    }
    return relative
  }

  private func bring(
    _ file: ModelFileDescriptor, index: Int, target: URL, part: URL, _ meter: ProgressMeter
  ) async throws -> (bytes: Int, sha256: String) {
    if FileTree.size(target) != nil {
      // Complete since an earlier attempt.
      let sum = try await Blocking.run { stop in try LocalCopy.sum(target) { _ in try stop.check() } }
      meter.update(file: index, done: sum.bytes, total: sum.bytes)
      return (sum.bytes, sum.sha256)
    }
    let sum: (bytes: Int, sha256: String)
    if file.url.isFileURL {
      let total = FileTree.size(file.url)
      let (guarded, relative) = (try GuardedFolder(collected), try place(file.filename + ".part"))
      sum = try await Blocking.run { stop in
        try LocalCopy.copy(
          file.url, to: relative, in: guarded, expecting: file, waitsForDisk: policy.waitsForDisk
        ) { done in
          try stop.check()
          meter.update(file: index, done: done, total: total)
        }
      }
      meter.update(file: index, done: sum.bytes, total: sum.bytes)
    } else {
      sum = try await FileFetcher(
        file: file, folder: collected, part: place(file.filename + ".part"), transport: transport, policy: policy,
        onBytes: { meter.update(file: index, done: $0, total: $1) },
        onRetry: { tell(.retrying(attempt: $0, reason: $1, delaySeconds: $2)) }
      ).fetch()
      meter.update(file: index, done: sum.bytes, total: sum.bytes)
    }
    try FileTree.move(part, to: target)
    try FileTree.remove(part.appendingPathExtension("json"))
    return sum
  }

  /// Learns the sizes of all files before the first is transferred; what is still missing, nil when that can't be known.
  private func sizes(_ meter: ProgressMeter) async throws -> Int? {
    for (index, file) in registration.files.enumerated() {
      let target = collected.appendingPathComponent(file.filename)
      if let done = FileTree.size(target) ?? FileTree.size(target.appendingPathExtension("part")) {
        if FileTree.size(target) != nil { meter.setTotal(done, file: index) }
        meter.update(file: index, done: done, total: nil)
      }
      if file.sizeBytes != nil || FileTree.size(target) != nil { continue }
      if file.url.isFileURL {
        meter.setTotal(FileTree.size(file.url), file: index)
      } else if registration.files.count > 1 {
        meter.setTotal(try await remoteSize(file), file: index)
      }
    }
    return meter.missingBytes ?? registration.approximateDownloadSize
  }

  /// A size from the server, nil when it doesn't say; a file that isn't there is found out before anything is transferred.
  private func remoteSize(_ file: ModelFileDescriptor) async throws -> Int? {
    let answer = Collected<TransferResponse?>(nil)
    do {
      try await transport.perform(
        TransferRequest(url: file.url, method: "HEAD", idleTimeout: policy.idleTimeout)
      ) {
        answer.value = $0
      } onData: { _ in
      }
    } catch let error as RegistryError where error.code == .networkFailed {
      // The transfer itself tries again, and tells.
      return nil
    }
    guard let response = answer.value else { return nil }
    if [404, 410].contains(response.status), !file.isOptional {
      throw RegistryError(
        .httpError, "\(file.url.shown): the server answers \(response.status) (not there)", httpStatus: response.status)
    }
    guard response.status == 200 else { return nil }
    return try TransferLength.announced(response.headers["content-length"], by: file.url.shown.absoluteString)
  }

  private func checkSpace(_ needed: Int?) throws {
    // An archive is there packed and unpacked at once.
    guard let needed, let free = policy.freeBytes(partial) else { return }
    let check = StorageCheck(
      bytes: archive == nil ? needed : needed.addingClamped(needed), margin: policy.spaceMargin, freeBytes: free)
    guard check.isAvailable else {
      throw RegistryError(
        .insufficientStorage,
        "\(registration.id): needs \(check.requiredBytes) bytes at \(layout.root.path), \(free) are free; free some space, or "
          + "keep models elsewhere (GENBENCH_MODELS)")
    }
    if check.isTight { tell(.note("little space: needs \(check.requiredBytes) bytes, \(free) are free")) }
  }

  // MARK: - Folders and archives

  private func copyFolder(_ meter: ProgressMeter) async throws -> InstallReceipt {
    let source = registration.files[0].url
    guard FileTree.isFolder(source) else {
      throw RegistryError(
        .invalidInput, "\(source.path): expected a folder, found \(FileTree.exists(source) ? "a file" : "nothing")")
    }
    try FileTree.remove(collected)
    let names = try FileTree.sourceFiles(below: source)
    guard !names.isEmpty else { throw RegistryError(.invalidInput, "\(source.path): there are no files in it") }
    let total = FileTree.bytes(of: names, in: source)
    guard total > 0 else { throw RegistryError(.invalidInput, "\(source.path): all files in it are empty") }
    meter.setTotal(total, file: 0)
    try checkSpace(total)
    let main = try ModelLayout.mainPath(in: source, files: names, structure: .unknown)
    try FileTree.makeFolder(collected)
    let guarded = try GuardedFolder(collected)
    let projector = ModelLayout.projector(names)
    let copied = try await Blocking.run { stop -> [InstallReceipt.File] in
      var before = 0
      return try names.map { name in
        let sum = try LocalCopy.copy(
          source.appendingPathComponent(name), to: place(name), in: guarded, waitsForDisk: policy.waitsForDisk
        ) { done in
          try stop.check()
          meter.update(file: 0, done: before.addingClamped(done), total: total)
        }
        before = before.addingClamped(sum.bytes)
        return InstallReceipt.File(
          path: name, bytes: sum.bytes, sha256: sum.sha256, role: role(of: name, main: main, projector: projector))
      }
    }
    return InstallReceipt(sourceKey: registration.sourceKey, mainPath: main, files: copied)
  }

  private func unpack(_ files: [InstallReceipt.File], _ meter: ProgressMeter) async throws -> InstallReceipt {
    guard let archive else { return try plainReceipt(files) }
    try FileTree.makeFolder(unpacked)
    let file = collected.appendingPathComponent(files[0].path)
    var limits = ArchiveExtractor.Limits()
    limits.bytes = policy.freeBytes(partial)
    let extractor = ArchiveExtractor(archive: file, format: archive.format, limits: limits)
    do {
      let outputs = try await Blocking.run { stop in
        try extractor.extract(into: unpacked) { share in
          try stop.check()
          meter.extracting(share)
        }
      }
      let names = outputs.map(\.path)
      let main = try ModelLayout.mainPath(in: unpacked, files: names, structure: archive.structure)
      let projector = ModelLayout.projector(names)
      return InstallReceipt(
        sourceKey: registration.sourceKey, mainPath: main,
        files: outputs.map {
          InstallReceipt.File(
            path: $0.path, bytes: $0.bytes, sha256: $0.sha256, role: role(of: $0.path, main: main, projector: projector))
        })
    } catch let error as RegistryError where [.extractionFailed, .unsupportedArchive, .notSupported].contains(error.code) {
      // Another attempt with the same bytes would end the same.
      try FileTree.remove(partial)
      throw error
    }
  }

  private func role(of path: String, main: String, projector: String?) -> ModelFileDescriptor.Role? {
    if path == main { return .primary }
    return path == projector ? .visionProjector : nil
  }

  private func plainReceipt(_ files: [InstallReceipt.File]) throws -> InstallReceipt {
    let names = files.map(\.path)
    let primary = registration.files[registration.primaryIndex].filename
    let isFolder = names.contains { ($0 as NSString).lastPathComponent == "model_index.json" }
    guard isFolder || names.contains(primary) else {
      throw RegistryError(.invalidInput, "\(registration.id): the main file '\(primary)' isn't there; it can't be optional")
    }
    let main = isFolder ? try ModelLayout.mainPath(in: collected, files: names, structure: .unknown) : primary
    return InstallReceipt(sourceKey: registration.sourceKey, mainPath: main, files: files)
  }

  // MARK: - In place

  private func install(_ receipt: InstallReceipt, from folder: URL) throws {
    try FileTree.makeFolder(staged)
    try FileTree.move(folder, to: staged.appendingPathComponent("files"))
    try receipt.write(staged.appendingPathComponent("receipt.json"))
    try putInPlace()
  }

  /// Gives the staged folder its place by one rename.
  private func putInPlace() throws {
    let target = layout.model(registration.id)
    if FileTree.exists(target) {
      guard let use = try FileLock.take(layout.useLock(registration.id)) else {
        throw RegistryError(.inUse, "\(registration.id): an earlier download of it is loaded; unload it first")
      }
      defer { withExtendedLifetime(use) {} }
      try layout.trash.take(target)
    }
    try FileTree.move(staged, to: target)
    try FileTree.remove(partial)
  }
}
