import Checkpoints
import Foundation

/// Copies files of this machine.
enum LocalCopy {
  /// Copies a file; `onBytes` may throw to stop.
  ///
  /// - Throws: ``RegistryError`` `invalidInput` when it isn't there, `insufficientStorage`, `checksumMismatch`.
  static func copy(
    _ source: URL, to target: URL, expecting file: ModelFileDescriptor? = nil, waitsForDisk: Bool,
    onBytes: (_ done: Int) throws -> Void
  ) throws -> (bytes: Int, sha256: String) {
    guard let size = FileTree.size(source) else {
      throw RegistryError(.invalidInput, "\(source.path): expected a file, found \(FileTree.exists(source) ? "none" : "nothing")")
    }
    if let wanted = file?.sizeBytes, wanted != size {
      throw RegistryError(.invalidContent, "\(source.path): expected \(wanted) bytes, found \(size)")
    }
    guard let input = FileHandle(forReadingAtPath: source.path) else {
      throw RegistryError(.invalidInput, "\(source.path): can't be read")
    }
    defer { try? input.close() }
    let output = try PartFile(path: target.path)
    try output.restart()
    while true {
      let data: Data?
      do { data = try input.read(upToCount: 1 << 20) } catch {
        throw RegistryError(.invalidInput, "\(source.path): can't be read: \(error.localizedDescription)")
      }
      guard let data, !data.isEmpty else { break }
      try data.withUnsafeBytes { try output.append($0) }
      try onBytes(output.offset)
    }
    if let wanted = file?.sha256?.lowercased(), wanted != output.sha256 {
      throw RegistryError(.checksumMismatch, "\(source.path): expected SHA-256 \(wanted), found \(output.sha256)")
    }
    if let file, let problem = ContentSanity.problem(output.head, of: file) {
      throw RegistryError(.invalidContent, "\(source.path): \(problem)")
    }
    if waitsForDisk { try output.flush() }
    return (output.offset, output.sha256)
  }

  /// The size and the sum of a file.
  static func sum(_ source: URL, onBytes: (_ more: Int) throws -> Void = { _ in }) throws -> (bytes: Int, sha256: String) {
    guard let input = FileHandle(forReadingAtPath: source.path) else {
      throw RegistryError(.storageFailed, "\(source.path): can't be read")
    }
    defer { try? input.close() }
    var hash = SHA256()
    var bytes = 0
    while let data = try? input.read(upToCount: 1 << 20), !data.isEmpty {
      data.withUnsafeBytes { hash.update($0) }
      bytes += data.count
      try onBytes(data.count)
    }
    return (bytes, hash.finishedHex())
  }
}
