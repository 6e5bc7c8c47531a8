import Checkpoints
import Foundation

/// Folders and what is in them.
enum FileTree {
  /// Makes a folder with all above it.
  static func makeFolder(_ url: URL) throws(RegistryError) {
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw RegistryError(.storageFailed, "\(url.path): the folder can't be made: \(error.localizedDescription)")
    }
  }

  /// Removes what is there, if anything is.
  static func remove(_ url: URL) throws(RegistryError) {
    guard exists(url) else { return }
    do {
      try FileManager.default.removeItem(at: url)
    } catch {
      throw RegistryError(.storageFailed, "\(url.path): can't be removed: \(error.localizedDescription)")
    }
  }

  /// Renames in one step; `to` must not be there.
  static func move(_ from: URL, to: URL) throws(RegistryError) {
    guard rename(from.path, to.path) == 0 else {
      throw RegistryError(
        .storageFailed, "\(from.path): can't be moved to \(to.path): \(String(cString: strerror(errno)))")
    }
  }

  /// Whether something is there, a dangling link included.
  static func exists(_ url: URL) -> Bool {
    var status = stat()
    return lstat(url.path, &status) == 0
  }

  static func isFolder(_ url: URL) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
  }

  /// The size of a file; nil when it's none.
  static func size(_ url: URL) -> Int? {
    var status = stat()
    guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The files below a folder as relative paths, sorted, behind links too, to folders as well.
  ///
  /// - Throws: ``RegistryError`` `invalidInput` for a folder that can't be read, a link that leads nowhere or in a circle, and
  ///   for what is neither file nor folder: what is left out silently would be missing later.
  static func sourceFiles(below folder: URL) throws(RegistryError) -> [String] {
    var found: [String] = []
    var pending: [(prefix: String, above: Set<FileIdentity>)] = [("", [])]
    while let (prefix, above) = pending.popLast() {
      let place = prefix.isEmpty ? folder : folder.appendingPathComponent(prefix)
      func refused(_ what: String) -> RegistryError { RegistryError(.invalidInput, "\(place.path): \(what)") }
      guard let identity = FileIdentity(place), !above.contains(identity), above.count < 64 else {
        throw refused("the links in it lead in a circle; give a folder without such links")
      }
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: place.path) } catch {
        throw refused("the folder can't be read: \(error.localizedDescription)")
      }
      for name in names {
        let relative = prefix.isEmpty ? name : prefix + "/" + name
        let path = folder.path + "/" + relative
        guard RelativePath(relative) != nil else { throw refused("'\(name)' is no name that can be stored") }
        var status = stat()
        guard stat(path, &status) == 0 else { throw refused("'\(name)' is a link that leads nowhere; complete the folder first") }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: pending.append((relative, above.union([identity])))
        case S_IFREG: found.append(relative)
        default: throw refused("'\(name)' is neither file nor folder")
        }
      }
    }
    return found.sorted()
  }

  /// What tells a folder from all others, whatever link leads to it.
  private struct FileIdentity: Hashable {
    var device: UInt64
    var node: UInt64

    init?(_ url: URL) {
      var status = stat()
      guard stat(url.path, &status) == 0 else { return nil }
      (device, node) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }
  }

  /// The files below a folder as relative paths, sorted; links to files are files, links to folders aren't followed.
  static func files(below folder: URL) -> [String] {
    var found: [String] = []
    var pending = [""]
    while let prefix = pending.popLast() {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(prefix).path)) ?? []
      for name in names {
        let relative = prefix.isEmpty ? name : prefix + "/" + name
        let url = folder.appendingPathComponent(relative)
        var link = stat()
        guard lstat(url.path, &link) == 0 else { continue }
        if link.st_mode & S_IFMT == S_IFDIR {
          pending.append(relative)
        } else if size(url) != nil {
          found.append(relative)
        }
      }
    }
    return found.sorted()
  }

  /// The bytes of all files below a folder.
  static func bytes(below folder: URL) -> Int {
    bytes(of: files(below: folder), in: folder)
  }

  /// The bytes of files of a folder.
  static func bytes(of names: [String], in folder: URL) -> Int {
    names.reduce(0) { $0.addingClamped(size(folder.appendingPathComponent($1)) ?? 0) }
  }

  /// Bytes that this process may still write where `url` is; nil when the system doesn't tell.
  static func freeBytes(at url: URL) -> Int? {
    var status = statvfs()
    guard statvfs(url.path, &status) == 0 else { return nil }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : Int(clamping: bytes)
  }
}
