import Foundation

/// FIFOs and device nodes of a test's own.
public enum SpecialFiles {
  /// Whether device nodes can be made and opened here: by root, and not in every container.
  public static let canMakeNodes: Bool = {
    guard let folder = try? TemporaryFolder(), (try? makeNull(folder.path("null"))) != nil else { return false }
    let descriptor = open(folder.path("null"), O_WRONLY)
    defer { close(descriptor) }
    return descriptor >= 0
  }()

  /// A node that takes everything.
  ///
  /// - Throws: When the system refuses.
  public static func makeNull(_ path: String) throws { try make(path, minor: 3) }

  /// A node on which every write fails, as on a full disk.
  ///
  /// - Throws: When the system refuses.
  public static func makeFull(_ path: String) throws { try make(path, minor: 7) }

  /// A FIFO.
  ///
  /// - Throws: When the system refuses.
  public static func makeFIFO(_ path: String) throws {
    guard mkfifo(path, 0o600) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  private static func make(_ path: String, minor: Int) throws {
    #if os(Linux)
      // The memory devices have the major number 1.
      guard mknod(path, S_IFCHR | 0o666, dev_t(1 << 8 | minor)) == 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    #else
      throw POSIXError(.ENOTSUP)
    #endif
  }

  /// The kind and mode bits of what stands at a path, links not followed.
  public static func mode(_ path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt32(status.st_mode) : 0
  }
}
