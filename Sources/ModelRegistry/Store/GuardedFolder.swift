import Checkpoints
import Foundation

/// A folder that files are put into by paths from outside: each step is opened by its descriptor, and no link is followed.
final class GuardedFolder: Sendable {
  private let descriptor: Int32
  private let path: String

  /// Opens a folder of the store.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`.
  init(_ url: URL) throws(RegistryError) {
    path = url.path
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
  }

  deinit { close(descriptor) }

  private static func failure(_ path: String, _ code: Int32) -> RegistryError {
    if code == ENOSPC || code == EDQUOT {
      return RegistryError(.insufficientStorage, "\(path): the disk is full; free some space and go on")
    }
    // Something else is in the way: what asked for this place asks for the impossible.
    let isInTheWay = [EEXIST, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG].contains(code)
    return RegistryError(
      isInTheWay ? .invalidInput : .storageFailed, "\(path): can't be opened: \(String(cString: strerror(code)))")
  }

  /// Makes a folder with all above it.
  ///
  /// - Throws: ``RegistryError`` `invalidInput` when a file or a link is in the way, `storageFailed`.
  func makeFolder(_ relative: RelativePath) throws(RegistryError) {
    close(try folder(relative.components[...]))
  }

  /// Opens a file for reading and writing, made with its folders when it isn't there.
  ///
  /// - Parameter isNew: Whether it must not be there.
  /// - Throws: ``RegistryError`` `invalidInput` when a link or a folder is in the way, `storageFailed`, `insufficientStorage`.
  func file(_ relative: RelativePath, isNew: Bool) throws(RegistryError) -> Int32 {
    let parent = try folder(relative.components.dropLast())
    defer { close(parent) }
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (isNew ? O_EXCL : 0)
    let file = openat(parent, relative.components.last ?? "", flags, 0o644)
    guard file >= 0 else { throw Self.failure("\(path)/\(relative.text)", errno) }
    return file
  }

  /// The descriptor of a folder below this one, which the caller closes.
  private func folder(_ names: ArraySlice<String>) throws(RegistryError) -> Int32 {
    var current = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard current >= 0 else { throw Self.failure(path, errno) }
    for name in names {
      let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
      var next = openat(current, name, flags)
      if next < 0, errno == ENOENT {
        if mkdirat(current, name, 0o755) == 0 || errno == EEXIST { next = openat(current, name, flags) }
      }
      let code = errno
      close(current)
      guard next >= 0 else { throw Self.failure("\(path)/\(names.joined(separator: "/"))", code) }
      current = next
    }
    return current
  }
}
