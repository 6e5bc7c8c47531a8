import InputFiles
public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file mapped for reading; pages come from the page cache when they're touched.
///
/// What can't be mapped, such as a pipe, is read whole.
public final class MappedFile: WeightOwner, @unchecked Sendable {
  // The mapping is read-only and lives as long as this object: sharing it between threads is safe.

  /// The path it was opened from.
  public let path: String
  /// The whole content.
  public let bytes: UnsafeRawBufferPointer
  /// Bytes that are read at most from what can't be mapped.
  private static let streamLimit = 4 << 30

  /// Maps a file, or reads a stream.
  ///
  /// - Throws: ``CheckpointError`` `.missing` when it can't be opened, `.invalid` when it's a folder.
  public convenience init(path: String) throws(CheckpointError) {
    var kind = stat()
    if stat(path, &kind) == 0, kind.st_mode & S_IFMT != S_IFREG {
      try self.init(stream: path)
      return
    }
    let (descriptor, length) = try Self.open(path, flags: 0)
    defer { close(descriptor) }
    guard length > 0 else {
      self.init(path: path, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
      return
    }
    guard let address = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), address != MAP_FAILED else {
      throw CheckpointError(.invalid, file: path, "can't be mapped into memory: \(String(cString: strerror(errno)))")
    }
    self.init(path: path, bytes: UnsafeRawBufferPointer(start: address, count: length))
  }

  /// Reads a file of another program into memory, so that it may change or be cut short afterwards; links aren't followed.
  ///
  /// - Throws: As ``init(path:)``, and `.invalid` when it's longer than `longest` bytes or shrinks while it's read.
  public convenience init(copying path: String, longest: Int) throws(CheckpointError) {
    let (descriptor, length) = try Self.open(path, flags: O_NOFOLLOW | O_NONBLOCK)
    defer { close(descriptor) }
    guard length <= longest else {
      throw CheckpointError(.invalid, file: path, "expected at most \(longest) bytes, found \(length)")
    }
    guard length > 0 else {
      self.init(path: path, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
      return
    }
    guard let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), address != MAP_FAILED else {
      throw CheckpointError(.invalid, file: path, "\(length) bytes don't fit into memory: \(String(cString: strerror(errno)))")
    }
    var position = 0
    while position < length {
      let count = read(descriptor, address + position, min(length - position, 1 << 30))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        munmap(address, length)
        throw CheckpointError(.invalid, file: path, "expected \(length) bytes, could read only \(position)")
      }
      position += count
    }
    self.init(path: path, bytes: UnsafeRawBufferPointer(start: address, count: length))
  }

  /// Reads a pipe, a FIFO or standard input to its end.
  private convenience init(stream path: String) throws(CheckpointError) {
    let content: [UInt8]
    do throws(InputFileError) {
      content = try InputFile.read(path, limit: Self.streamLimit)
    } catch {
      throw CheckpointError(error.code == .missing ? .missing : .invalid, file: path, error.message)
    }
    guard !content.isEmpty else {
      self.init(path: path, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
      return
    }
    guard let address = mmap(nil, content.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), address != MAP_FAILED
    else {
      throw CheckpointError(
        .invalid, file: path, "\(content.count) bytes don't fit into memory: \(String(cString: strerror(errno)))")
    }
    UnsafeMutableRawBufferPointer(start: address, count: content.count).copyBytes(from: content)
    self.init(path: path, bytes: UnsafeRawBufferPointer(start: address, count: content.count))
  }

  private init(path: String, bytes: UnsafeRawBufferPointer) {
    self.path = path
    self.bytes = bytes
  }

  private static func open(_ path: String, flags: Int32) throws(CheckpointError) -> (descriptor: Int32, length: Int) {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, O_RDONLY | O_CLOEXEC | flags)
    #else
      let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | flags)
    #endif
    guard descriptor >= 0 else {
      throw CheckpointError(.missing, file: path, "can't be opened: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw CheckpointError(.invalid, file: path, "a file was expected, found something else (a folder?)")
    }
    return (descriptor, Int(status.st_size))
  }

  deinit {
    if let base = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: base), bytes.count) }
  }
}
