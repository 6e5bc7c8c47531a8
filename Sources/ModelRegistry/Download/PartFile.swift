import Checkpoints
import Foundation
import Synchronization

/// A file that grows, with its sum.
final class PartFile: Sendable {
  private struct State {
    var descriptor: Int32
    var offset = 0
    var hash = SHA256()
    /// The first bytes, which tell a page of HTML from a model.
    var head: [UInt8] = []
  }

  private let path: String
  private let state: Mutex<State>

  /// Opens or makes it below a folder; what it holds is kept and summed.
  ///
  /// - Parameters:
  ///   - folder: The folder that it stays in.
  ///   - relative: Its place there; no link on the way is followed.
  ///   - isNew: Whether it must not be there.
  ///   - check: Called now and then while what is there is summed; may throw to stop.
  /// - Throws: ``RegistryError`` `storageFailed`.
  init(in folder: GuardedFolder, _ relative: RelativePath, isNew: Bool = false, check: () throws -> Void = {}) throws {
    path = relative.text
    state = Mutex(State(descriptor: try folder.file(relative, isNew: isNew)))
    if !isNew { try resume(check) }
  }

  deinit { state.withLock { _ = close($0.descriptor) } }

  var offset: Int { state.withLock { $0.offset } }
  var sha256: String { state.withLock { $0.hash.finishedHex() } }
  var head: [UInt8] { state.withLock { $0.head } }

  /// Reads what is there.
  private func resume(_ check: () throws -> Void) throws {
    try state.withLock { state in
      var buffer = [UInt8](repeating: 0, count: 1 << 20)
      while true {
        try check()
        let count = buffer.withUnsafeMutableBytes { read(state.descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else {
          throw RegistryError(.storageFailed, "\(path): can't be read: \(String(cString: strerror(errno)))")
        }
        if count == 0 { return }
        buffer.withUnsafeBytes { Self.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), into: &state) }
      }
    }
  }

  private static func take(_ bytes: UnsafeRawBufferPointer, into state: inout State) {
    state.offset += bytes.count
    state.hash.update(bytes)
    let wanted = ForeignContent.startLength
    if state.head.count < wanted { state.head += bytes.prefix(wanted - state.head.count) }
  }

  /// Forgets everything.
  func restart() throws {
    try state.withLock { state in
      guard ftruncate(state.descriptor, 0) == 0, lseek(state.descriptor, 0, SEEK_SET) == 0 else {
        throw RegistryError(.storageFailed, "\(path): can't be emptied: \(String(cString: strerror(errno)))")
      }
      (state.offset, state.hash, state.head) = (0, SHA256(), [])
    }
  }

  /// Adds bytes at the end.
  ///
  /// - Throws: ``RegistryError`` `insufficientStorage` when the disk is full, `storageFailed`.
  func append(_ bytes: UnsafeRawBufferPointer) throws {
    try state.withLock { state in
      var rest = bytes
      while !rest.isEmpty {
        let written = write(state.descriptor, rest.baseAddress, min(rest.count, 1 << 30))
        let code = errno
        if written < 0, code == EINTR { continue }
        guard written > 0 else {
          if code == ENOSPC || code == EDQUOT {
            throw RegistryError(
              .insufficientStorage, "\(path): the disk is full after \(state.offset) bytes; free some space and go on")
          }
          throw RegistryError(.storageFailed, "\(path): can't be written: \(String(cString: strerror(code)))")
        }
        Self.take(UnsafeRawBufferPointer(rebasing: rest[..<written]), into: &state)
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    }
  }

  /// Waits until the disk has it.
  func flush() throws {
    let result = state.withLock { fsync($0.descriptor) }
    // Some file systems can't; the data is there all the same.
    guard result == 0 || errno == EINVAL || errno == EROFS else {
      throw RegistryError(.storageFailed, "\(path): can't be written to the disk: \(String(cString: strerror(errno)))")
    }
  }
}
