import Checkpoints
import Foundation
import ModelRegistry

/// What processes that were killed have left: temporary folders, half-written files, deleted models.
struct Leftovers {
  /// Temporary folders: full-size weights, checks, plots.
  let scratch: [URL]
  /// Files under their temporary names.
  let files: [URL]
  /// What is left in the store of models.
  let stored: [URL]
  private let registry: ModelRegistry

  /// Looks for them.
  ///
  /// - Parameter folders: Where outputs are written.
  /// - Throws: ``RegistryError`` when the store's index can't be read.
  init(folders: [URL], registry: ModelRegistry) throws {
    self.registry = registry
    scratch = ScratchFolder.leftovers()
    let places = Set(folders.map { $0.standardizedFileURL.path }).sorted().map { URL(fileURLWithPath: $0) }
    files = places.flatMap { AtomicFile.leftovers(in: $0) }
    stored = try registry.leftovers()
  }

  var all: [URL] { scratch + files + stored }

  /// Their bytes on the disk.
  var bytes: Int {
    all.reduce(0) { sum, place in
      var size = 0
      for name in [""] + (FileManager.default.enumerator(atPath: place.path)?.compactMap { $0 as? String } ?? []) {
        var status = stat()
        guard lstat(name.isEmpty ? place.path : place.path + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
          continue
        }
        size += Int(status.st_size)
      }
      return sum + size
    }
  }

  /// Removes them; gives those that are still there.
  func remove() throws -> [URL] {
    for folder in scratch { _ = ScratchFolder.removeLeftover(folder) }
    for file in files { _ = AtomicFile.removeLeftover(file) }
    try registry.removeLeftovers()
    return all.filter { FileManager.default.fileExists(atPath: $0.path) }
  }
}
