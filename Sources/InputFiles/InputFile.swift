#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads what the user names as a file: a regular one, or a pipe, a FIFO, `/dev/stdin`, a shell's `<(…)`, which have no size and
/// can be read once only.
public enum InputFile {
  /// Whether reading is to stop; looked at while a stream keeps its reader waiting.
  @TaskLocal public static var isCancelled: @Sendable () -> Bool = { Task.isCancelled }

  /// The whole content.
  ///
  /// - Parameters:
  ///   - path: A path; `-` is standard input.
  ///   - limit: Bytes that are taken at most.
  /// - Throws: ``InputFileError``: missing, a folder, longer than the limit, or given up on request.
  public static func read(_ path: String, limit: Int) throws(InputFileError) -> [UInt8] {
    let descriptor = try open(path)
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(path) }
    let kind = status.st_mode & S_IFMT
    guard kind != S_IFDIR else { throw InputFileError(.invalid, file: path, "a file was expected, found a folder") }
    func tooLong() -> InputFileError {
      InputFileError(.invalid, file: path, "longer than the limit of \(limit) bytes; is it the right file?")
    }
    if kind == S_IFREG, Int(status.st_size) > limit { throw tooLong() }

    var content: [UInt8] = []
    if kind == S_IFREG { content.reserveCapacity(Int(status.st_size)) }
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if kind != S_IFREG { try wait(for: descriptor, path) }
      let count = Self.read(descriptor, &chunk)
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw failure(path)
      }
      if count == 0 { return content }
      guard content.count + count <= limit else { throw tooLong() }
      content.append(contentsOf: chunk[..<count])
    }
  }

  /// Opens without waiting for a writer: that is done where it can be given up.
  private static func open(_ path: String) throws(InputFileError) -> Int32 {
    var descriptor: Int32 = -1
    if path == "-" {
      descriptor = dup(0)
    } else {
      #if canImport(Darwin)
        descriptor = Darwin.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      #else
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      #endif
      // A socket can't be opened by its name.
      if descriptor < 0, errno == ENXIO, path == "/dev/stdin" { descriptor = dup(0) }
    }
    guard descriptor >= 0 else { throw failure(path) }
    return descriptor
  }

  private static func read(_ descriptor: Int32, _ chunk: inout [UInt8]) -> Int {
    chunk.withUnsafeMutableBytes { buffer in
      #if canImport(Darwin)
        Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
    }
  }

  /// Waits until there is something to read or the last writer is gone.
  private static func wait(for descriptor: Int32, _ path: String) throws(InputFileError) {
    while true {
      if isCancelled() { throw InputFileError(.cancelled, file: path, "reading was given up") }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&entry, 1, 50)
      if ready > 0 { return }
      if ready < 0, errno != EINTR { throw failure(path) }
    }
  }

  private static func failure(_ path: String) -> InputFileError {
    InputFileError(errno == EISDIR ? .invalid : .missing, file: path, "can't be read: \(String(cString: strerror(errno)))")
  }
}
