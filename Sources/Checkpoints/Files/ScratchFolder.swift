public import Foundation

/// A folder of its own below the system's temporary one, gone with the object: mode 0700, under a name that can't be guessed.
///
/// The folder is locked while its object lives, so that what a killed process left behind can be told from what is in use.
public final class ScratchFolder: Sendable {
  /// The folder.
  public let url: URL
  private let descriptor: Int32

  private static let prefix = "genbench."

  /// Makes an empty folder.
  ///
  /// - Parameter purpose: A word for its name.
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public init(_ purpose: String, in parent: URL = FileManager.default.temporaryDirectory) throws(CheckpointError) {
    let pattern = parent.appendingPathComponent("\(Self.prefix)\(purpose).XXXXXX").path
    func failure() -> CheckpointError {
      CheckpointError(
        .unwritable, file: parent.path,
        "a temporary folder can't be made: \(String(cString: strerror(errno))); set TMPDIR to another place")
    }
    while true {
      var name = Array(pattern.utf8CString)
      guard mkdtemp(&name) != nil else { throw failure() }
      let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else {
        if errno == ENOENT { continue }
        throw failure()
      }
      // Whoever cleans may have taken it for a leftover in the moment before the lock.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, FileManager.default.fileExists(atPath: path) {
        (url, self.descriptor) = (URL(fileURLWithPath: path, isDirectory: true), descriptor)
        return
      }
      close(descriptor)
    }
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
    close(descriptor)
  }

  /// Folders that processes which are gone left below a temporary folder.
  public static func leftovers(in parent: URL = FileManager.default.temporaryDirectory) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.sorted().map { parent.appendingPathComponent($0) }
      .filter { withLeftover($0) { true } ?? false }
  }

  /// Removes a leftover; false when it's in use, somebody else's, or can't be removed.
  public static func removeLeftover(_ folder: URL) -> Bool {
    withLeftover(folder) { (try? FileManager.default.removeItem(at: folder)) != nil } ?? false
  }

  /// Runs something while nobody else can use the folder; nil when somebody does, or when it's no folder of this user.
  private static func withLeftover<Result>(_ folder: URL, _ body: () -> Result) -> Result? {
    let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      return nil
    }
    return body()
  }
}
