import CArchive
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
  /// - Parameter onFraction: Told how much of the archive has been read, 0...1; may throw to stop.
  /// - Throws: ``RegistryError`` `extractionFailed`, `unsupportedArchive`, `insufficientStorage`.
  func extract(into folder: URL, onFraction: (Double) throws -> Void) throws -> [Output] {
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
    var total = 0
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
      guard let path = try path(of: entry) else { continue }
      guard names.insert(path.lowercased()).inserted else { throw failed("'\(path)' is in it twice; refused") }
      let target = folder.appendingPathComponent(path)
      if archive_entry_filetype(entry) == Self.folderKind {
        try FileTree.makeFolder(target)
        continue
      }
      try FileTree.makeFolder(target.deletingLastPathComponent())
      let output = try PartFile(path: target.path)
      guard output.offset == 0 else { throw failed("'\(path)' is in it twice; refused") }
      try readData(reader, path: path) { bytes in
        total += bytes.count
        guard total <= most else {
          throw failed("unpacks to more than \(most) bytes, from \(packed); refused as a bomb")
        }
        try output.append(bytes)
        try onFraction(min(1, Double(archive_filter_bytes(reader, -1)) / Double(packed)))
      }
      outputs.append(Output(path: path, bytes: output.offset, sha256: output.sha256))
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
  private func path(of entry: OpaquePointer) throws(RegistryError) -> String? {
    guard let pointer = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry) else {
      throw failed("an entry has no name that can be read")
    }
    var path = String(cString: pointer)
    guard !path.hasPrefix("/"), !path.contains("\\") else { throw failed("'\(path)': an absolute path; refused") }
    while path.hasPrefix("./") { path.removeFirst(2) }
    while path.hasSuffix("/") { path.removeLast() }
    if path.isEmpty || path == "." { return nil }
    guard ModelRegistration.isSafe(path) else {
      throw failed("'\(path)': leads out of the folder, or isn't a usable name; refused")
    }
    guard archive_entry_hardlink(entry) == nil, archive_entry_symlink(entry) == nil else {
      throw failed("'\(path)': a link; refused")
    }
    let kind = archive_entry_filetype(entry)
    guard kind == Self.fileKind || kind == Self.folderKind else { throw failed("'\(path)': neither file nor folder; refused") }
    guard archive_entry_is_encrypted(entry) == 0 else { throw failed("'\(path)': encrypted; unpack it yourself") }
    let parts = path.split(separator: "/")
    if parts.first == "__MACOSX" || parts.last == ".DS_Store" || parts.last?.hasPrefix("._") == true { return nil }
    return path
  }

  private func readData(_ reader: OpaquePointer, path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
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
