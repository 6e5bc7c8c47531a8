import Checkpoints
import Foundation

/// Looks at outputs before any work is done for them.
package enum OutputFiles {
  /// Throws when a file could not be written at a path.
  package static func check(_ path: String) throws {
    let manager = FileManager.default
    var isFolder: ObjCBool = false
    if manager.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      throw CommandError(.usage, "\(path): is a folder; give the name of a file")
    }
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard manager.fileExists(atPath: parent, isDirectory: &isFolder), isFolder.boolValue else {
      throw CommandError(.usage, "\(path): the folder \(parent) doesn't exist; make it first")
    }
    guard manager.isWritableFile(atPath: parent) else {
      throw CommandError(.usage, "\(path): the folder \(parent) can't be written to")
    }
  }

  /// Makes a folder with all above it, and tries whether it can be written to.
  package static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw CommandError(.cannotWrite, "\(path): the folder can't be made: \(error.localizedDescription)")
    }
    let probe = path + "/.genbench-\(ProcessInfo.processInfo.processIdentifier)"
    try AtomicFile.write("", to: probe)
    try? FileManager.default.removeItem(atPath: probe)
  }

  /// `image-1.png` for `image.png`.
  package static func path(_ path: String, suffix: String) -> String {
    let url = URL(fileURLWithPath: path)
    let ending = url.pathExtension
    guard !ending.isEmpty else { return path + suffix }
    return path.dropLast(ending.count + 1) + suffix + "." + ending
  }
}
