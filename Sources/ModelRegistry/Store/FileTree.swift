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
    files(below: folder).reduce(0) { $0 + (size(folder.appendingPathComponent($1)) ?? 0) }
  }

  /// Bytes that this process may still write where `url` is; nil when the system doesn't tell.
  static func freeBytes(at url: URL) -> Int? {
    var status = statvfs()
    guard statvfs(url.path, &status) == 0 else { return nil }
    return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
  }
}
