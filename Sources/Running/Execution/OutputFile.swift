import Checkpoints
package import Foundation

/// Where a command writes: a file, something that bytes can be written through, or `-` for stdout.
package struct OutputFile: Sendable, Hashable {
  /// As it was given.
  package let path: String

  /// Names an output.
  package init(_ path: String) { self.path = path }

  /// Whether it's stdout.
  package var isStdout: Bool { path == "-" }

  /// Looks whether it can be written, before any work is done for it.
  ///
  /// - Throws: `CommandError` `.cannotWrite`.
  package func check() throws {
    if isStdout { return }
    func refuse(_ why: String) -> CommandError { CommandError(.cannotWrite, "\(path.isEmpty ? "\"\"" : path): \(why)") }
    if path.isEmpty { throw refuse("an output needs a name") }
    // A link is written through, so that what it leads to counts.
    let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    var status = stat()
    if stat(target, &status) == 0 {
      if status.st_mode & S_IFMT == S_IFDIR { throw refuse("is a folder; give the name of a file") }
      if status.st_mode & S_IFMT != S_IFREG {
        guard access(target, W_OK) == 0 else { throw refuse("can't be written: \(String(cString: strerror(errno)))") }
        return
      }
    }
    let parent = URL(fileURLWithPath: target).deletingLastPathComponent().path
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: parent, isDirectory: &isFolder), isFolder.boolValue else {
      throw refuse("the folder \(parent) doesn't exist; make it first")
    }
    guard access(parent, W_OK) == 0 else { throw refuse("the folder \(parent) can't be written to") }
  }

  /// Writes the whole of it.
  ///
  /// - Throws: `CheckpointError` `.unwritable`.
  package func write(_ data: Data) throws { try AtomicFile.write(data, to: path) }

  /// Writes the whole of it as UTF-8.
  ///
  /// - Throws: `CheckpointError` `.unwritable`.
  package func write(_ text: String) throws { try write(Data(text.utf8)) }

  /// `image-1.png` for `image.png`.
  package func suffixed(_ suffix: String) -> OutputFile {
    let ending = URL(fileURLWithPath: path).pathExtension
    return OutputFile(ending.isEmpty ? path + suffix : path.dropLast(ending.count + 1) + suffix + "." + ending)
  }

  /// Makes a folder with all above it, and tries whether it can be written to.
  ///
  /// - Throws: `CommandError` `.cannotWrite`, `CheckpointError` `.unwritable`.
  package static func makeFolder(_ path: String) throws {
    do {
      guard !path.isEmpty else { throw CommandError(.cannotWrite, "\"\": a folder needs a name") }
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch let error as CommandError {
      throw error
    } catch {
      throw CommandError(.cannotWrite, "\(path): the folder can't be made: \(error.localizedDescription)")
    }
    let probe = path + "/.genbench-\(ProcessInfo.processInfo.processIdentifier)"
    try AtomicFile.write("", to: probe)
    try? FileManager.default.removeItem(atPath: probe)
  }
}
