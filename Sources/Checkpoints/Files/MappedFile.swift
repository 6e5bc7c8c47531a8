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
  /// Whether the bytes were read into memory of their own.
  private let isCopy: Bool

  /// Bytes that are read at most from what can't be mapped.
  private static let streamLimit = 4 << 30

  /// Maps a file, or reads a stream.
  ///
  /// - Throws: ``CheckpointError`` `.missing` when it can't be opened, `.invalid` when it's a folder.
  public init(path: String) throws(CheckpointError) {
    var kind = stat()
    if stat(path, &kind) == 0, kind.st_mode & S_IFMT != S_IFREG {
      let content: [UInt8]
      do throws(InputFileError) {
        content = try InputFile.read(path, limit: Self.streamLimit)
      } catch {
        throw CheckpointError(error.code == .invalid ? .invalid : .missing, file: path, error.message)
      }
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: content.count, alignment: 64)
      copy.copyBytes(from: content)
      self.path = path
      bytes = UnsafeRawBufferPointer(copy)
      isCopy = true
      return
    }
    isCopy = false
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CheckpointError(.missing, file: path, "can't be opened: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw CheckpointError(.invalid, file: path, "a file was expected, found something else (a folder?)")
    }
    let length = Int(status.st_size)
    self.path = path
    if length == 0 {
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      return
    }
    guard let address = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), address != MAP_FAILED else {
      throw CheckpointError(.invalid, file: path, "can't be mapped into memory: \(String(cString: strerror(errno)))")
    }
    bytes = UnsafeRawBufferPointer(start: address, count: length)
  }

  deinit {
    if isCopy {
      bytes.deallocate()
      return
    }
    if let base = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: base), bytes.count) }
  }
}
