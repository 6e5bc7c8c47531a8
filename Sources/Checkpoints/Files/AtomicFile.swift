public import Foundation
public import Tensors

/// Writes whole files: to a temporary name beside the target, then renamed, so that nobody sees half a file.
public enum AtomicFile {
  /// Writes data.
  ///
  /// - Parameters:
  ///   - data: The content.
  ///   - path: The file.
  ///   - mode: Its permissions, less what the umask takes.
  /// - Throws: ``CheckpointError`` `.unwritable`; nothing is left behind then.
  public static func write(_ data: Data, to path: String, mode: mode_t = 0o644) throws(CheckpointError) {
    var stream = try AtomicFileStream(path: path, mode: mode)
    try stream.write(data)
    try stream.commit()
  }

  /// Files below a folder, not those of its subfolders, that processes which are gone left half written.
  public static func leftovers(in folder: URL) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter(AtomicFileStream.isTemporary).sorted().map { folder.appendingPathComponent($0) }
      .filter { withLeftover($0) { true } ?? false }
  }

  /// Removes a leftover; false when it's still being written, somebody else's, or can't be removed.
  public static func removeLeftover(_ file: URL) -> Bool { withLeftover(file) { unlink(file.path) == 0 } ?? false }

  /// Runs something while nobody else can write the file; nil when somebody does, or when it's no file of this user.
  private static func withLeftover<Result>(_ file: URL, _ body: () -> Result) -> Result? {
    let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      flock(descriptor, LOCK_EX | LOCK_NB) == 0
    else { return nil }
    return body()
  }

  /// Writes text as UTF-8.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public static func write(_ text: String, to path: String) throws(CheckpointError) {
    try write(Data(text.utf8), to: path)
  }
}

/// A file that grows under a temporary name and appears under its own when it's complete.
///
/// Dropped without ``commit()``, it leaves nothing behind. Links are followed, and a file that is replaced keeps its mode and owner.
/// What is no regular file (a FIFO, a device) is written through as it is, and `-` is stdout: neither can be taken back.
public struct AtomicFileStream: ~Copyable {
  private let path: String
  /// The name until it's complete; nil when the bytes go straight to their place.
  private let temporary: String?
  private var descriptor: Int32

  /// Whether a name is one that files have while they're written.
  static func isTemporary(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 5 && parts[0].isEmpty && parts.last == "tmp"
      && parts.suffix(3).dropLast().allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }
  }

  /// Starts a file.
  ///
  /// - Parameters:
  ///   - path: Its name when it's complete.
  ///   - mode: Its permissions, less what the umask takes; a file that is replaced keeps its own, unless these are narrower.
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public init(path: String, mode: mode_t = 0o644) throws(CheckpointError) {
    func failure() -> CheckpointError {
      CheckpointError(.unwritable, file: path, "can't be written: \(String(cString: strerror(errno)))")
    }
    if path == "-" {
      (self.path, temporary, descriptor) = ("stdout", nil, dup(STDOUT_FILENO))
      guard descriptor >= 0 else { throw failure() }
      return
    }
    let target = Self.target(of: URL(fileURLWithPath: path))
    self.path = target.path
    var old = stat()
    let exists = stat(target.path, &old) == 0
    if exists, old.st_mode & S_IFMT != S_IFREG {
      temporary = nil
      descriptor = open(target.path, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw failure() }
      return
    }
    let name = ".\(target.lastPathComponent).\(ProcessInfo.processInfo.processIdentifier).\(UInt32.random(in: 0 ... .max)).tmp"
    let temporary = target.deletingLastPathComponent().appendingPathComponent(name).path
    self.temporary = temporary
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw failure() }
    // Tells a file that is being written from one that a killed process left; not every file system can.
    _ = flock(descriptor, LOCK_EX | LOCK_NB)
    if exists {
      // Another's file stays another's where this user may give files away; elsewhere it becomes this user's.
      _ = fchown(descriptor, old.st_uid, old.st_gid)
      // What is asked to be narrower than usual isn't left wide.
      _ = fchmod(descriptor, old.st_mode & (mode == 0o644 ? 0o7777 : mode))
    }
  }

  /// What a path leads to over links, the last of which may lead to nothing yet.
  private static func target(of url: URL) -> URL {
    var url = url
    for _ in 0..<40 {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: url.path) else { break }
      url = URL(fileURLWithPath: next, relativeTo: url.deletingLastPathComponent()).absoluteURL
    }
    return url
  }

  deinit {
    if descriptor >= 0 {
      close(descriptor)
      if let temporary { unlink(temporary) }
    }
  }

  private func failure(_ code: Int32) -> CheckpointError {
    CheckpointError(.unwritable, file: path, "can't be written: \(String(cString: strerror(code)))")
  }

  /// Writes all bytes; 0, or the error's number.
  private func put(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    var rest = bytes
    while !rest.isEmpty {
      #if canImport(Darwin)
        let written = Darwin.write(descriptor, rest.baseAddress, min(rest.count, 1 << 30))
      #else
        let written = Glibc.write(descriptor, rest.baseAddress, min(rest.count, 1 << 30))
      #endif
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { return errno }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    return 0
  }

  private func check(_ code: Int32) throws(CheckpointError) {
    guard code == 0 else { throw failure(code) }
  }

  /// Adds bytes at the end.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`, when the disk is full for one.
  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(CheckpointError) { try check(put(bytes)) }

  /// Adds data at the end.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public mutating func write(_ data: Data) throws(CheckpointError) { try check(data.withUnsafeBytes { put($0) }) }

  /// Adds the memory of an array at the end.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public mutating func write<Element: BitwiseCopyable>(_ elements: [Element]) throws(CheckpointError) {
    try check(elements.withUnsafeBytes { put($0) })
  }

  /// Adds the elements of a tensor at the end, as they lie in memory.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public mutating func write(_ tensor: Tensor) throws(CheckpointError) {
    try check(tensor.withUnsafeBuffer { put(UnsafeRawBufferPointer($0)) })
  }

  /// Gives the file its name, replacing what was there.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`; nothing is left behind then.
  public consuming func commit() throws(CheckpointError) {
    if let temporary, rename(temporary, path) != 0 { throw failure(errno) }
    // A disk that is elsewhere may say only now that it's full.
    let code = close(descriptor) == 0 ? 0 : errno
    descriptor = -1
    try check(code)
  }
}
