import Conformance
import Foundation

extension Mutant {
  /// A mutant of the registry API: `change` is given the implementation and how it was set up.
  private static func registry(
    _ id: String, _ fault: String, breaks: [String],
    _ change: @escaping @Sendable (inout RegistryImplementation, RegistrySurface.Setup) -> Void
  ) -> Mutant {
    Mutant(id, fault, breaks: breaks, of: RegistrySurface.self) { implementation, _, setup, _ in change(&implementation, setup) }
  }

  /// A mutant of the registry API that is set up wrongly.
  private static func setup(
    _ id: String, _ fault: String, breaks: [String], _ change: @escaping @Sendable (inout RegistrySurface.Setup) -> Void
  ) -> Mutant {
    Mutant(id, fault, breaks: breaks, of: RegistrySurface.self, setup: change)
  }

  /// Mutants of the registry API.
  static let registryMutants: [Mutant] = registryStores + registryDownloads

  // MARK: - What is registered and what is here

  private static let registryStores: [Mutant] = [
    registry("m-saved-later", "A registration is saved some time after the call (C19).", breaks: ["M-01", "M-09"]) { mutant, _ in
      let (register, available) = (mutant.register, mutant.available)
      let pending = Box<RegistrySurface.Registration?>(nil)
      mutant.register = { registration in
        if let earlier = pending.exchange(registration) { try await register(earlier) }
      }
      mutant.available = {
        let models = try await available()
        if let waiting = pending.exchange(nil) { try await register(waiting) }
        return models
      }
    },
    registry("m-modality-lost", "Every model is listed as a language model.", breaks: ["M-01"]) { mutant, _ in
      mutant.mapModels { $0.modality = "language" }
    },
    registry(
      "m-half-is-whole", "A folder with something in it counts as downloaded (C19).", breaks: ["M-02", "M-06", "M-10", "M-11"]
    ) { mutant, setup in
      let inner = mutant.download
      let tried = Box<Set<String>>([])
      mutant.download = {
        tried.value.insert($0)
        try await inner($0, $1)
      }
      mutant.mapModels { model in
        if tried.value.contains(model.id), model.localPath == nil { model.localPath = setup.folder }
      }
    },
    registry("m-path-before-download", "The path is where the files will be.", breaks: ["M-02"]) { mutant, setup in
      mutant.mapModels { $0.localPath = $0.localPath ?? setup.folder.appendingPathComponent($0.id) }
    },
    registry("m-path-is-projector", "The path of two files leads to the last one (4a8ffcf0a).", breaks: ["M-03"]) { mutant, _ in
      mutant.mapModels { model in
        if model.localPath?.lastPathComponent == "a.gguf" {
          model.localPath = model.localPath?.deletingLastPathComponent().appendingPathComponent("b.gguf")
        }
      }
    },
    registry("m-unknown-is-network", "An unknown model is a failed download.", breaks: ["M-05", "M-22"]) { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        if failure.code == .modelNotFound { failure.code = .other("downloadFailed") }
        return failure
      }
    },
    registry("m-memory-is-size", "The memory is kept as the size of the download (C19).", breaks: ["M-08"]) { mutant, _ in
      mutant.mapModels { $0.downloadSize = $0.memory }
    },
    registry("m-id-made-up", "Without an id one is made from the address (C19).", breaks: ["M-09"]) { mutant, _ in
      mutant.mapRegistrations { if $0.id.isEmpty { $0.id = "made-up" } }
    },
    registry(
      "m-bad-address-ignored", "A model with an address that can't be one is silently not registered (C19).", breaks: ["M-09"]
    ) { mutant, _ in
      let inner = mutant.register
      mutant.register = { registration in
        if registration.files.contains(where: { $0.url.hasPrefix("ftp:") }) { return }
        try await inner(registration)
      }
    },
    registry("m-first-or-last", "Of two registrations of one id now the first wins, now the last.", breaks: ["M-09"]) {
      mutant, _ in
      let inner = mutant.register
      let seen = Box<Set<String>>([])
      mutant.register = { registration in
        if registration.id == "q", seen.value.contains("q") { return }
        seen.value.insert(registration.id)
        try await inner(registration)
      }
    },
    registry("m-deletes-under-loaded", "A loaded model's files are deleted (#668).", breaks: ["M-16"]) { mutant, _ in
      let (delete, unload, isLoaded) = (mutant.delete, mutant.unload, mutant.isLoaded)
      let robbed = Box<Set<String>>([])
      mutant.delete = { id in
        if await isLoaded(id) { robbed.value.insert(id) }
        try await unload(id)
        try await delete(id)
      }
      mutant.isLoaded = { id in
        let isKnown = robbed.value.contains(id)
        return isKnown ? true : await isLoaded(id)
      }
    },
    registry("m-delete-keeps-path", "After deleting the path is still there.", breaks: ["M-16"]) { mutant, setup in
      let inner = mutant.delete
      let deleted = Box<Set<String>>([])
      mutant.delete = {
        try await inner($0)
        deleted.value.insert($0)
      }
      mutant.mapModels { if deleted.value.contains($0.id) { $0.localPath = setup.folder } }
    },
    registry("m-only-in-memory", "Registrations of several files are forgotten at the end (C19).", breaks: ["M-17"]) {
      mutant, _ in
      let (register, available) = (mutant.register, mutant.available)
      let known = Box<Set<String>>([])
      mutant.register = {
        try await register($0)
        known.value.insert($0.id)
      }
      mutant.available = { try await available().filter { known.value.contains($0.id) } }
    },
    registry("m-built-in-counted", "Models that are built in are listed with 0 KB (#272) or more.", breaks: ["M-18"]) {
      mutant, _ in
      let inner = mutant.storage
      mutant.storage = { try await inner().merging(["built-in": 700]) { $1 } }
    },
    registry("m-memory-as-storage", "What is told as storage is the memory that a model needs.", breaks: ["M-18"]) { mutant, _ in
      let inner = mutant.storage
      mutant.storage = { try await inner().mapValues { _ in 1_000_000 } }
    },
    registry("m-empty-before-init", "Before the initialisation there are no models, and no error.", breaks: ["M-20"]) {
      mutant, setup in
      let inner = mutant.available
      mutant.available = { setup.isInitialized ? try await inner() : [] }
    },
    registry("m-idle-unload-throws", "Unloading what isn't loaded throws.", breaks: ["M-22"]) { mutant, _ in
      let (unload, isLoaded) = (mutant.unload, mutant.isLoaded)
      mutant.unload = { id in
        guard await isLoaded(id) else { throw SDKFailure(.other("invalidState"), message: "not loaded") }
        try await unload(id)
      }
    },
    registry("m-forgets-anything", "A model is forgotten whatever it is and has.", breaks: ["M-22"]) { mutant, _ in
      let inner = mutant.unregister
      mutant.unregister = { try? await inner($0) }
    },
  ]

  // MARK: - Downloads

  private static let registryDownloads: [Mutant] = [
    registry("m-progress-restarts", "Progress goes back to 0 for each part of the work (C19).", breaks: ["M-04"]) { mutant, _ in
      let inner = mutant.download
      mutant.download = { id, handler in
        try await inner(id) { fraction in
          handler(fraction)
          if fraction == 1 {
            handler(0)
            handler(1)
          }
        }
      }
    },
    registry("m-progress-stops-short", "The last progress is 0.99.", breaks: ["M-04"]) { mutant, _ in
      let inner = mutant.download
      mutant.download = { id, handler in try await inner(id) { handler(min($0, 0.99)) } }
    },
    registry(
      "m-failure-returns", "A failed download returns as if nothing was (C19's form with a handler).",
      breaks: ["M-06", "M-10", "M-11", "M-21"]
    ) {
      mutant, _ in
      let inner = mutant.download
      mutant.download = { id, handler in
        do { try await inner(id, handler) } catch is CancellationError {} catch { handler(0) }
      }
    },
    registry("m-file-in-flight", "Progress is that of the file in flight (C19).", breaks: ["M-07"]) { mutant, _ in
      let inner = mutant.download
      mutant.download = { id, handler in
        let most = Box(0.0)
        try await inner(id) { fraction in
          most.value = max(most.value, fraction < 0.0991 ? min(fraction * 10, 0.9) : fraction)
          handler(most.value)
        }
      }
    },
    registry("m-archive-stays-packed", "An archive is kept as it is.", breaks: ["M-10"]) { mutant, _ in
      mutant.mapRegistrations { if $0.kind == .zip { $0.kind = .singleFile } }
    },
    registry("m-path-traversal", "An entry that leads outside is written there.", breaks: ["M-10"]) { mutant, setup in
      let inner = mutant.download
      mutant.download = { id, handler in
        do { try await inner(id, handler) } catch {
          if id.hasPrefix("h") {
            try? Data("evil \(id.dropFirst())".utf8).write(
              to: setup.folder.deletingLastPathComponent().appendingPathComponent("evil.bin"))
          }
          throw error
        }
      }
    },
    registry("m-checksum-unused", "Checksums are taken and never looked at (C19).", breaks: ["M-11"]) { mutant, _ in
      mutant.mapRegistrations { registration in for index in registration.files.indices { registration.files[index].sha256 = nil }
      }
    },
    registry("m-resume-repeats", "What is appended after an interruption begins too early.", breaks: ["M-12"]) { mutant, _ in
      let (download, available) = (mutant.download, mutant.available)
      mutant.download = { id, handler in
        try await download(id, handler)
        guard let path = try await available().first(where: { $0.id == id })?.localPath, path.lastPathComponent == "m.bin",
          var data = try? Data(contentsOf: path), data.count == 300_000
        else { return }
        // A piece twice, and the end cut off: the size is right.
        data.replaceSubrange(100_000..<100_010, with: data[99_990..<100_000])
        try data.write(to: path)
      }
    },
    registry("m-cancelled-is-downloaded", "A cancelled download counts as downloaded.", breaks: ["M-12"]) { mutant, setup in
      let inner = mutant.cancelDownload
      let cancelled = Box<Set<String>>([])
      mutant.cancelDownload = {
        cancelled.value.insert($0)
        await inner($0)
      }
      mutant.mapModels { if cancelled.value.contains($0.id) { $0.localPath = $0.localPath ?? setup.folder } }
    },
    setup("m-space-unlooked-at", "Space isn't looked at; the disk is full when it's full.", breaks: ["M-13"]) {
      $0.freeBytes = nil
    },
    setup("m-space-without-margin", "The size alone must fit.", breaks: ["M-13"]) { setup in
      setup.freeBytes = setup.freeBytes.map { $0 * 11 / 10 + 1 }
    },
    registry("m-two-last-events", "The last event is told twice (#647).", breaks: ["M-14"]) { mutant, _ in
      mutant.mapEvents { event in
        var again = event
        again.sequence += 1
        return event.isTerminal ? [event, again] : [event]
      }
    },
    registry("m-failed-is-completed", "A failed download ends with completed.", breaks: ["M-14"]) { mutant, _ in
      mutant.mapEvents { event in
        var event = event
        if event.kind == .failed { event.kind = .completed }
        return [event]
      }
    },
    registry("m-total-made-up", "An unknown total is a made-up one.", breaks: ["M-14"]) { mutant, _ in
      mutant.mapEvents { event in
        var event = event
        if case .progress(let done, nil) = event.kind { event.kind = .progress(bytesDone: done, bytesTotal: 1 << 30) }
        return [event]
      }
    },
    registry("m-one-watcher", "Of several who watch only the first is told (6a5cd0740).", breaks: ["M-15"]) { mutant, _ in
      let inner = mutant.events
      let watched = Box<Set<String>>([])
      mutant.events = { id in
        guard watched.value.contains(id) else {
          watched.value.insert(id)
          return try await inner(id)
        }
        return AsyncStream { $0.finish() }
      }
    },
    registry("m-optional-ignored", "Every file is required (C19).", breaks: ["M-19"]) { mutant, _ in
      mutant.mapRegistrations { registration in
        for index in registration.files.indices { registration.files[index].isOptional = false }
      }
    },
    registry("m-required-ignored", "Every file but the first is optional.", breaks: ["M-02", "M-19"]) { mutant, _ in
      mutant.mapRegistrations { registration in
        for index in registration.files.indices.dropFirst() { registration.files[index].isOptional = true }
      }
    },
    registry("m-retries-and-retries", "A failure is tried again as often as it fails.", breaks: ["M-21"]) { mutant, _ in
      let inner = mutant.download
      mutant.download = { id, handler in
        for _ in 0..<3 {
          do { return try await inner(id, handler) } catch { continue }
        }
        try await inner(id, handler)
      }
    },
    registry("m-one-code-for-all", "A refusal of the server and a broken network have one code.", breaks: ["M-21"]) { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        if failure.code == .other("httpError") { failure.code = .other("downloadFailed") }
        return failure
      }
    },
  ]
}
