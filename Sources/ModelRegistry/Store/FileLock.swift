import Foundation

/// A lock on a file, against other processes and against others in this one; free when the object is gone, or the process.
final class FileLock: Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Takes a lock.
  ///
  /// - Parameters:
  ///   - isShared: Whether others may share it.
  ///   - waits: Whether to wait, for locks that are held for moments only.
  /// - Returns: nil when somebody else has it.
  /// - Throws: ``RegistryError`` `storageFailed`.
  static func take(_ path: String, isShared: Bool = false, waits: Bool = false) throws(RegistryError) -> FileLock? {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw RegistryError(.storageFailed, "\(path): the lock can't be opened: \(String(cString: strerror(errno)))")
    }
    let operation = (isShared ? LOCK_SH : LOCK_EX) | (waits ? 0 : LOCK_NB)
    while flock(descriptor, operation) != 0 {
      let code = errno
      if code == EINTR { continue }
      close(descriptor)
      if code == EWOULDBLOCK { return nil }
      throw RegistryError(.storageFailed, "\(path): can't be locked: \(String(cString: strerror(code)))")
    }
    return FileLock(descriptor: descriptor)
  }
}

/// Keeps a model's files from being deleted while it's loaded; let go of it to free them.
public final class ModelLease: Sendable {
  private let lock: FileLock

  init(_ lock: FileLock) { self.lock = lock }
}
