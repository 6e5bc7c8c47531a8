import CArchive
import Checkpoints
import Foundation

/// Unpacks an archive into an empty folder: files and folders only, each within that folder.
///
/// Refused: absolute paths and `..`, links and devices, a name that is there twice, encrypted entries, and archives that
/// unpack to far more than they hold ("bombs").
struct ArchiveExtractor {
  /// What an archive may unpack to.
  struct Limits: Sendable, Hashable {
    /// Entries.
    var entries = 100_000
    /// Bytes of all their names.
    var nameBytes = 16 << 20
    /// Bytes of a zip file's directory, which is read before its first entry.
    var directoryBytes = 32 << 20
    /// Unpacked bytes for each byte of the archive.
    var ratio = 100
    /// Unpacked bytes that are allowed whatever the ratio.
    var smallBytes = 16 << 20
    /// Unpacked bytes in all; nil for no limit.
    var bytes: Int?
  }

  /// A file that was unpacked.
  struct Output: Sendable, Hashable {
    var path: String
    var bytes: Int
    var sha256: String
  }

  /// `AE_IFREG` and `AE_IFDIR` of archive_entry.h, which Swift can't see.
  private static let fileKind: mode_t = 0o100000
  private static let folderKind: mode_t = 0o040000

  let archive: URL
  let format: ArchiveFormat
  var limits = Limits()

  /// Unpacks into `folder`, which must be empty.
  ///
  /// Takes time in proportion to the archive and what it holds.
  ///
  /// - Parameter onFraction: Told how much of the archive has been read, 0...1, at each entry and each piece; may throw to stop.
  /// - Throws: ``RegistryError`` `extractionFailed`, `unsupportedArchive`, `insufficientStorage`.
  func extract(into folder: URL, onFraction: (Double) throws -> Void) throws -> [Output] {
    if format == .zip, let bytes = ZipDirectory.size(of: archive), bytes > limits.directoryBytes {
      throw failed("its directory has \(bytes) bytes, more than \(limits.directoryBytes); refused")
    }
    return try CharacterLocale.withUTF8 { try extractAll(into: GuardedFolder(folder), onFraction: onFraction) }
  }

  private func extractAll(into folder: GuardedFolder, onFraction: (Double) throws -> Void) throws -> [Output] {
    guard let reader = archive_read_new() else { throw failed("no memory for reading it") }
    defer { archive_read_free(reader) }
    try prepare(reader)
    guard archive_read_open_filename(reader, archive.path, 1 << 18) == ARCHIVE_OK else {
      throw RegistryError(
        .unsupportedArchive, "\(archive.lastPathComponent): expected an archive of kind \(format.rawValue): \(text(reader))")
    }
    let packed = max(FileTree.size(archive) ?? 0, 1)
    let most = min(
      max(packed.multipliedReportingOverflow(by: limits.ratio).partialValue, limits.smallBytes), limits.bytes ?? .max)
    var outputs: [Output] = []
    var names: Set<String> = []
    var count = 0
    var nameBytes = 0
    var total = 0
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    func told() throws { try onFraction(min(1, Double(archive_filter_bytes(reader, -1)) / Double(packed))) }
    /// Takes an entry's content; what isn't kept counts too.
    func content(_ path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
      try readData(reader, path: path, &buffer) { bytes in
        total = total.addingClamped(bytes.count)
        guard total <= most else {
          throw failed("unpacks to more than \(most) bytes, from \(packed); refused as a bomb")
        }
        try body(bytes)
        try told()
      }
    }
    while true {
      var entry: OpaquePointer?
      let status = archive_read_next_header(reader, &entry)
      if status == ARCHIVE_EOF { break }
      guard status == ARCHIVE_OK || status == ARCHIVE_WARN, let entry else {
        throw count == 0
          ? RegistryError(
            .unsupportedArchive, "\(archive.lastPathComponent): expected an archive of kind \(format.rawValue): \(text(reader))")
          : failed("damaged after \(count) entries: \(text(reader))")
      }
      count += 1
      guard count <= limits.entries else { throw failed("more than \(limits.entries) entries; refused") }
      try told()
      guard let relative = try path(of: entry) else {
        try content("an entry that isn't kept") { _ in }
        continue
      }
      let path = relative.text
      nameBytes += path.utf8.count
      guard nameBytes <= limits.nameBytes else { throw failed("its names take more than \(limits.nameBytes) bytes; refused") }
      guard names.insert(path.lowercased()).inserted else { throw failed("'\(path)' is in it twice; refused") }
      do {
        if archive_entry_filetype(entry) == Self.folderKind {
          try folder.makeFolder(relative)
          try content(path) { _ in }
          continue
        }
        let output = try PartFile(in: folder, relative, isNew: true)
        try content(path) { try output.append($0) }
        if let problem = ContentCheck.problem(output.head, byteCount: output.offset, path: path) {
          throw failed("'\(path)': \(problem)")
        }
        outputs.append(Output(path: path, bytes: output.offset, sha256: output.sha256))
      } catch let error as RegistryError where error.code == .invalidInput {
        throw failed("'\(path)': a file and a folder of one name, or a name that can't be; refused")
      }
    }
    guard !outputs.isEmpty else { throw failed("there are no files in it") }
    return outputs.sorted { $0.path < $1.path }
  }

  /// Allows the one format that was registered, so that a file isn't taken for something else.
  private func prepare(_ reader: OpaquePointer) throws(RegistryError) {
    var results: [Int32] = []
    switch format {
    case .zip: results = [archive_read_support_format_zip(reader)]
    case .tar: results = [archive_read_support_format_tar(reader)]
    case .tarGz: results = [archive_read_support_filter_gzip(reader), archive_read_support_format_tar(reader)]
    case .tarBz2: results = [archive_read_support_filter_bzip2(reader), archive_read_support_format_tar(reader)]
    case .tarXz: results = [archive_read_support_filter_xz(reader), archive_read_support_format_tar(reader)]
    }
    // A warning means that an outside program would do it, which isn't wanted.
    guard results.allSatisfy({ $0 == ARCHIVE_OK }) else {
      throw RegistryError(
        .unsupportedArchive, "\(archive.lastPathComponent): this build of libarchive doesn't read \(format.rawValue)")
    }
  }

  /// The path of an entry; nil for what systems add on their own.
  private func path(of entry: OpaquePointer) throws(RegistryError) -> RelativePath? {
    guard let pointer = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry) else {
      throw failed("an entry has no name that can be read")
    }
    // Bytes: a slash with a combining mark behind it is a slash to the system.
    let text = String(cString: pointer)
    var bytes = Array(text.utf8)[...]
    guard bytes.first != UInt8(ascii: "/") else { throw failed("'\(text)': an absolute path; refused") }
    while bytes.starts(with: "./".utf8) { bytes = bytes.dropFirst(2) }
    while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    if bytes.isEmpty || bytes.elementsEqual(".".utf8) { return nil }
    guard let path = RelativePath(String(decoding: bytes, as: UTF8.self)) else {
      throw failed("'\(text)': leads out of the folder, or isn't a usable name; refused")
    }
    guard archive_entry_hardlink(entry) == nil, archive_entry_symlink(entry) == nil else {
      throw failed("'\(text)': a link; refused")
    }
    let kind = archive_entry_filetype(entry)
    guard kind == Self.fileKind || kind == Self.folderKind else { throw failed("'\(text)': neither file nor folder; refused") }
    guard archive_entry_is_encrypted(entry) == 0 else { throw failed("'\(text)': encrypted; unpack it yourself") }
    let parts = path.components
    if parts.first == "__MACOSX" || parts.last == ".DS_Store" || parts.last?.hasPrefix("._") == true { return nil }
    return path
  }

  private func readData(
    _ reader: OpaquePointer, path: String, _ buffer: inout [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    while true {
      let count = buffer.withUnsafeMutableBytes { archive_read_data(reader, $0.baseAddress, $0.count) }
      if count == Int(ARCHIVE_RETRY) { continue }
      guard count >= 0 else { throw failed("'\(path)' is damaged: \(text(reader))") }
      if count == 0 { return }
      try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }

  private func text(_ reader: OpaquePointer) -> String {
    archive_error_string(reader).map { String(cString: $0) } ?? "no reason given"
  }

  private func failed(_ text: String) -> RegistryError {
    RegistryError(.extractionFailed, "\(archive.lastPathComponent): \(text)")
  }
}
