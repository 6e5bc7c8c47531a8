import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import TestSupport
import Testing

/// Archives made to lead out, to grow, or to last.
struct HostileArchiveTests {
  private let store: Store
  private let registry: ModelRegistry

  init() throws {
    store = try Store()
    registry = store.registry()
  }

  private func download(_ archive: Data, format: ArchiveFormat = .zip) async throws -> ModelDescriptor {
    store.server.put("/archive", ServedFile(archive))
    try registry.registerModel(
      id: "m", name: "m", url: store.server.url("/archive"), framework: .diffusers, modality: .imageGeneration,
      artifactType: .archive(format, structure: .unknown))
    return try await registry.downloadModel("m")
  }

  @Test(arguments: [
    "../\u{301}evil", "a/../\u{301}/../../evil", "\u{301}", "a/\u{301}b", "..\u{0}", "\u{600}/x", "./../evil", ".//evil",
    "a/./../../evil", "\u{2f}etc/genbench-evil", "a\u{7f}", "a:b", "C:\\x",
  ])
  func namesThatLeadOutAreRefused(_ name: String) async throws {
    for kind in [TestArchive.Kind.tar, .zip] {
      let path = store.folder.path("archive-\(UUID().uuidString)")
      try TestArchive.make(kind, [.file("model_index.json", Data("{}".utf8))], at: path)
      let entries = [("model_index.json", Data("{}".utf8)), (name, Data("bad".utf8))]
      let archive = kind == .zip ? ZipBuilder.archive(entries) : RawTar.archive(entries)
      let found = await code { _ = try await download(archive, format: kind == .zip ? .zip : .tar) }
      // A name that ends at a NUL is another name, and stays inside.
      #expect(found == .extractionFailed || name.contains("\u{0}"), "\(kind) \(name.debugDescription)")
      #expect(!FileManager.default.fileExists(atPath: "/etc/genbench-evil"))
      let all = FileManager.default.enumerator(atPath: store.folder.url.deletingLastPathComponent().path)
      while let place = all?.nextObject() as? String {
        all?.skipDescendants()
        #expect(!place.hasSuffix("evil"), "\(place)")
      }
    }
  }

  @Test func namesInUTF8AreTakenInEveryLocale() async throws {
    let names = ["model_index.json", "unet/gewicht-ä.bin", "日本/語.bin", "e\u{301}.txt"]
    for archive in [ZipBuilder.archive(names.map { ($0, Data("{}".utf8)) }), RawTar.archive(names.map { ($0, Data("{}".utf8)) })]
    {
      let isTar = archive.count > 3000
      let folder = try #require(try await download(archive, format: isTar ? .tar : .zip).localPath)
      for name in names {
        // libarchive composes accents; as texts the names are the same.
        let parent = folder.appendingPathComponent(name).deletingLastPathComponent()
        let last = String(name.split(separator: "/").last ?? "")
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path).contains(last), "\(name)")
      }
      try registry.deleteModel("m")
    }
  }

  @Test(arguments: [
    [("a", "x"), ("a/b", "y")], [("a/b", "y"), ("a", "x")], [("A", "x"), ("a", "y")], [("\u{e9}", "x"), ("e\u{301}", "y")],
  ])
  func filesInTheWayAreRefused(_ entries: [(String, String)]) async throws {
    let archive = RawTar.archive([("model_index.json", Data("{}".utf8))] + entries.map { ($0.0, Data($0.1.utf8)) })
    #expect(await code { _ = try await download(archive, format: .tar) } == .extractionFailed)
    #expect(try registry.storage().partialBytes == 0)
  }

  @Test func entriesThatArentKeptCountTooAgainstBombs() async throws {
    let entries: [TestArchive.Entry] = [
      .file("model_index.json", Data("{}".utf8)), .file("__MACOSX/._zeros", Data(count: 64 << 20)),
    ]
    let path = store.folder.path("bomb")
    try TestArchive.make(.tarGz, entries, at: path)
    let error = await #expect(throws: RegistryError.self) {
      _ = try await download(Data(contentsOf: URL(fileURLWithPath: path)), format: .tarGz)
    }
    #expect(error?.code == .extractionFailed && error?.message.contains("bomb") == true)
  }

  @Test func manyEntriesAreLimited() async throws {
    var entries = (0..<100_001).map { ("d\($0)/", Data()) }
    entries[0] = ("model_index.json", Data("{}".utf8))
    let error = await #expect(throws: RegistryError.self) { _ = try await download(RawTar.archive(entries), format: .tar) }
    #expect(error?.code == .extractionFailed && error?.message.contains("more than 100000 entries") == true)
    #expect(try registry.storage().partialBytes == 0)
  }

  @Test func aZipWithAHugeDirectoryIsRefusedBeforeItsRead() async throws {
    var archive = ZipBuilder.archive([("model_index.json", Data("{}".utf8))])
    // The last record says that the directory begins at 0; what lies there is 40 MB of something.
    let end = archive.count - 22
    archive.replaceSubrange((end + 16)..<(end + 20), with: [0, 0, 0, 0])
    archive = noise(40 << 20) + archive
    let error = await #expect(throws: RegistryError.self) { _ = try await download(archive) }
    #expect(error?.code == .extractionFailed && error?.message.contains("directory") == true, "\(error?.message ?? "")")
  }
}

/// Tar archives of any name, written by hand: libarchive wouldn't write them.
enum RawTar {
  /// A head without name and size, its sum's place filled with spaces, and its sum.
  private static let head: (bytes: [UInt8], sum: Int) = {
    var head = [UInt8](repeating: 0, count: 512)
    for (text, offset) in [("0000644\u{0}0000000\u{0}0000000\u{0}", 100), ("00000000000        ", 136), ("ustar\u{0}00", 257)] {
      head.replaceSubrange(offset..<(offset + text.utf8.count), with: Array(text.utf8))
    }
    for index in 148..<156 { head[index] = 32 }
    return (head, head.reduce(0) { $0 + Int($1) })
  }()

  static func archive(_ entries: [(name: String, content: Data)]) -> Data {
    var data = Data(capacity: entries.count * 512)
    for (name, content) in entries {
      var (head, sum) = head
      func put(_ text: some Sequence<UInt8>, at offset: Int) {
        for (index, byte) in text.enumerated() {
          head[offset + index] = byte
          sum += Int(byte)
        }
      }
      put(name.utf8.prefix(100), at: 0)
      put(octal(content.count, 11).utf8, at: 124)
      put([name.utf8.last == UInt8(ascii: "/") ? UInt8(ascii: "5") : UInt8(ascii: "0")], at: 156)
      for (index, byte) in (octal(sum, 6) + "\u{0} ").utf8.enumerated() { head[148 + index] = byte }
      data.append(contentsOf: head)
      data.append(content)
      data.append(Data(count: (512 - content.count % 512) % 512))
    }
    return data + Data(count: 1024)
  }

  private static func octal(_ value: Int, _ digits: Int) -> String {
    let text = String(value, radix: 8)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }
}
