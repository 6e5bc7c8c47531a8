import Foundation

/// What is being deleted: renamed first, so that it's gone in one step whatever happens while its files are removed.
struct Trash: Sendable {
  let folder: URL

  /// Moves something here and removes it.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`; once it's moved, it's gone for the store all the same.
  func take(_ url: URL) throws(RegistryError) {
    let entry = folder.appendingPathComponent(UUID().uuidString)
    try FileTree.move(url, to: entry)
    try remove(entry, waits: true)
  }

  /// What processes that are gone have left.
  var leftovers: [URL] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
      .map { folder.appendingPathComponent($0) }
  }

  /// Removes what processes that are gone have left; what can't be removed stays.
  func sweep() { for entry in leftovers { try? remove(entry, waits: false) } }

  private func remove(_ entry: URL, waits: Bool) throws(RegistryError) {
    let descriptor = open(entry.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    defer { if descriptor >= 0 { close(descriptor) } }
    // Whoever removes it holds it; two at once would stumble over each other.
    if descriptor >= 0 {
      while flock(descriptor, LOCK_EX | (waits ? 0 : LOCK_NB)) != 0 {
        if errno == EWOULDBLOCK { return }
        if errno != EINTR { break }
      }
    }
    try FileTree.remove(entry)
  }
}
