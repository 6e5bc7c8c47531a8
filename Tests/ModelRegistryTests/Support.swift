import CArchive
import Checkpoints
import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import Synchronization
import TestSupport
import Testing

/// A registry over a folder and a server of its own, whose waits are counted and not waited for.
final class Store: Sendable {
  let folder: TemporaryFolder
  let server: ModelServer
  let waits = Mutex<[Double]>([])
  private let free: Int?

  init(freeBytes: Int? = nil) throws {
    folder = try TemporaryFolder()
    server = try ModelServer()
    free = freeBytes
  }

  deinit { server.stop() }

  /// Opens the folder anew, as another process would.
  func registry(retries: Int = 3, folder other: String? = nil) -> ModelRegistry {
    var policy = DownloadPolicy(retries: retries, waitsForDisk: false)
    policy.wait = { [self] seconds in waits.withLock { $0.append(seconds) } }
    if let free { policy.freeBytes = { _ in free } }
    return ModelRegistry(folder: other.map { URL(fileURLWithPath: $0) } ?? folder.url, policy: policy)
  }

  /// Registers one file that the server has at `/path`.
  @discardableResult func register(
    _ id: String, at path: String, in registry: ModelRegistry, sizeBytes: Int? = nil, sha256: String? = nil
  ) throws -> ModelDescriptor {
    try registry.register(
      ModelRegistration(
        id: id, name: id, framework: .diffusers, modality: .imageGeneration, artifactType: .singleFile,
        files: [
          ModelFileDescriptor(
            url: server.url(path), filename: String(path.dropFirst()), sizeBytes: sizeBytes, sha256: sha256)
        ]))
  }

  func file(_ path: String) -> ModelFileDescriptor {
    ModelFileDescriptor(url: server.url(path), filename: String(path.dropFirst()))
  }
}

/// Bytes that look like no other's.
func noise(_ count: Int, seed: UInt64 = 1) -> Data {
  var random = TestRandom(seed: seed)
  var data = Data(capacity: count + 8)
  while data.count < count { withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) } }
  return data.prefix(count)
}

/// The fractions that a progress handler was told.
final class Fractions: Sendable {
  private let list = Mutex<[Double]>([])
  var all: [Double] { list.withLock { $0 } }
  func add(_ value: Double) { list.withLock { $0.append(value) } }
}

/// Runs something that must fail, and gives the code.
func code(_ body: () async throws -> Void) async -> RegistryError.Code? {
  do {
    try await body()
    return nil
  } catch { return (error as? RegistryError)?.code }
}

/// Writes archives of any kind with libarchive, links and hostile names included.
enum TestArchive {
  enum Entry {
    case file(String, Data)
    case symlink(String, to: String)
    case hardlink(String, to: String)
    case pipe(String)
  }

  enum Kind { case zip, tarGz, tarXz, tarBz2, tar }

  static func make(_ kind: Kind, _ entries: [Entry], at path: String) throws {
    let writer = try #require(archive_write_new())
    defer { archive_write_free(writer) }
    switch kind {
    case .zip: archive_write_set_format_zip(writer)
    case .tarGz:
      archive_write_add_filter_gzip(writer)
      archive_write_set_format_pax_restricted(writer)
    case .tarXz:
      archive_write_add_filter_xz(writer)
      archive_write_set_format_pax_restricted(writer)
    case .tarBz2:
      archive_write_add_filter_bzip2(writer)
      archive_write_set_format_pax_restricted(writer)
    case .tar: archive_write_set_format_pax_restricted(writer)
    }
    try #require(archive_write_open_filename(writer, path) == ARCHIVE_OK)
    for item in entries {
      let entry = try #require(archive_entry_new())
      defer { archive_entry_free(entry) }
      archive_entry_set_perm(entry, 0o644)
      archive_entry_set_filetype(entry, 0o100000)
      var content = Data()
      switch item {
      case .file(let name, let data):
        archive_entry_set_pathname_utf8(entry, name)
        content = data
      case .symlink(let name, let target):
        archive_entry_set_pathname_utf8(entry, name)
        archive_entry_set_filetype(entry, 0o120000)
        archive_entry_set_symlink_utf8(entry, target)
      case .hardlink(let name, let target):
        archive_entry_set_pathname_utf8(entry, name)
        archive_entry_set_hardlink_utf8(entry, target)
      case .pipe(let name):
        archive_entry_set_pathname_utf8(entry, name)
        archive_entry_set_filetype(entry, 0o010000)
      }
      archive_entry_set_size(entry, Int64(content.count))
      try #require(archive_write_header(writer, entry) == ARCHIVE_OK)
      let written = content.withUnsafeBytes { archive_write_data(writer, $0.baseAddress, $0.count) }
      try #require(content.isEmpty || written == content.count)
    }
    try #require(archive_write_close(writer) == ARCHIVE_OK)
  }
}
