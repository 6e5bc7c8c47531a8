import Checkpoints
import Foundation

/// Copies files of this machine.
enum LocalCopy {
  /// Copies a file; `onBytes` may throw to stop.
  ///
  /// - Throws: ``RegistryError`` `invalidInput` when it isn't there, `insufficientStorage`, `checksumMismatch`.
  static func copy(
    _ source: URL, to target: RelativePath, in folder: GuardedFolder, expecting file: ModelFileDescriptor? = nil,
    waitsForDisk: Bool, onBytes: (_ done: Int) throws -> Void
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
    let output = try PartFile(in: folder, target) { try onBytes(0) }
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
    let problem =
      file.map { ContentCheck.problem(output.head, byteCount: output.offset, of: $0) }
      ?? ContentCheck.problem(output.head, byteCount: output.offset, path: target.text)
    if let problem { throw RegistryError(.invalidContent, "\(source.path): \(problem)") }
    if waitsForDisk { try output.flush() }
    return (output.offset, output.sha256)
  }

  /// The size, the sum and the beginning of a file.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`, also when reading breaks off; what `onBytes` throws.
  static func sum(
    _ source: URL, onBytes: (_ more: Int) throws -> Void = { _ in }
  ) throws -> (bytes: Int, sha256: String, head: [UInt8]) {
    guard let input = FileHandle(forReadingAtPath: source.path) else {
      throw RegistryError(.storageFailed, "\(source.path): can't be read")
    }
    defer { try? input.close() }
    var hash = SHA256()
    var bytes = 0
    var head: [UInt8] = []
    while true {
      let data: Data?
      do { data = try input.read(upToCount: 1 << 20) } catch {
        throw RegistryError(.storageFailed, "\(source.path): can't be read: \(error.localizedDescription)")
      }
      guard let data, !data.isEmpty else { break }
      data.withUnsafeBytes { hash.update($0) }
      if head.isEmpty { head = Array(data.prefix(ForeignContent.startLength)) }
      bytes += data.count
      try onBytes(data.count)
    }
    return (bytes, hash.finishedHex(), head)
  }
}
