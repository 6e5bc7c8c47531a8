import Checkpoints
import Foundation
import TestSupport
import Testing

/// Paths, folders and contents that come from outside.
struct OutsideFilesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: ["a", "a/b", "日本/語.bin", "e\u{301}/x", ".hidden", "a..b", "...", "a b"])
  func pathsThatStayInside(_ text: String) { #expect(RelativePath(text)?.text == text) }

  @Test(arguments: [
    "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "./a", "a/./b", "a\\b", "C:x", "a\n", "a\u{7f}", "a\u{0}",
    "../\u{301}evil", "\u{301}a", "a/\u{301}", "\u{600}/a", "a\u{600}",
  ])
  func pathsThatDont(_ text: String) { #expect(RelativePath(text) == nil) }

  @Test func lengthsArePathsToo() {
    #expect(RelativePath(String(repeating: "a", count: 255)) != nil)
    #expect(RelativePath(String(repeating: "a", count: 256)) == nil)
    #expect(RelativePath(String(repeating: "aaaaaaaaa/", count: 100) + "a") == nil)
  }

  @Test(arguments: [
    ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "LFS"), ("<!DOCTYPE html><html>", "HTML"),
    ("{\"error\": \"Repository not found\"}", "JSON"), ("\u{1f}\u{8b}\u{8}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{3}", "gzip"),
    ("PK\u{3}\u{4}\u{14}\u{0}\u{0}\u{0}\u{0}\u{0}", "zip"), ("\u{80}\u{2}}q\u{0}(X\u{5}\u{0}\u{0}\u{0}", "pickle"), ("", "empty"),
    ("Entry not found", "message"), ("<?xml version='1.0'?>", "XML"),
  ])
  func openersSayWhatLiesThere(_ content: String, _ word: String) throws {
    let bytes = content.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    for name in ["m.safetensors", "m.gguf"] {
      let path = try folder.write(bytes, to: name)
      let error =
        name.hasSuffix("f")
        ? #expect(throws: CheckpointError.self) { _ = try GGUFFile(path: path) }
        : #expect(throws: CheckpointError.self) { _ = try SafetensorsFile(path: path) }
      #expect(error?.code == .invalid && error?.message.contains(word) == true, "\(name): \(error?.message ?? "")")
      let opened = #expect(throws: CheckpointError.self) { _ = try DiffusionCheckpoint.open(path: path) }
      #expect(opened?.message.contains("doesn't fit a file") == false, "\(opened?.message ?? "")")
    }
  }

  @Test func indexesCantNameFilesElsewhere() throws {
    for name in ["../x.safetensors", "/etc/passwd", "a/\u{301}", "..", "", "a/b"] {
      let json = String(decoding: try JSONEncoder().encode(["weight_map": ["w": name]]), as: UTF8.self)
      let path = try folder.write(Array(json.utf8), to: "m.safetensors.index.json")
      let error = #expect(throws: CheckpointError.self) { _ = try ShardedSafetensors(indexPath: path) }
      #expect(error?.code == .invalid, "\(name)")
    }
  }

  // MARK: - Folders of the cache

  private func cache(_ snapshots: [String: [String]], main: String?) throws -> String {
    let root = folder.url.appendingPathComponent("models--org--name-\(UUID().uuidString)")
    for (snapshot, files) in snapshots {
      let place = root.appendingPathComponent("snapshots/\(snapshot)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      for file in files { try Data().write(to: place.appendingPathComponent(file)) }
    }
    try FileManager.default.createDirectory(at: root.appendingPathComponent("refs"), withIntermediateDirectories: true)
    if let main { try Data(main.utf8).write(to: root.appendingPathComponent("refs/main")) }
    return root.path
  }

  @Test func theSnapshotOfMainIsTheModel() throws {
    let both = ["one": ["model_index.json"], "two": ["model_index.json", "x.safetensors"]]
    let path = try cache(both, main: "two\n")
    #expect(try HuggingFaceCache.model(in: path) == path + "/snapshots/two")
    let single = try cache(["one": ["model.safetensors", "README.md"]], main: nil)
    #expect(try HuggingFaceCache.model(in: single) == single + "/snapshots/one/model.safetensors")
    let gguf = try cache(["one": ["m.gguf", "mmproj-m.gguf"]], main: "one")
    #expect(try HuggingFaceCache.model(in: gguf) == gguf + "/snapshots/one/m.gguf")
    for main in [nil, "three", "../../..", "one/../two"] {
      let error = #expect(throws: CheckpointError.self) { _ = try HuggingFaceCache.model(in: cache(both, main: main)) }
      #expect(error?.code == .missing)
    }
    #expect(try HuggingFaceCache.model(in: folder.url.path) == nil)
  }

  // MARK: - Leftovers

  @Test func temporaryFoldersAreForTheirOwnerAndGoAway() throws {
    var scratch: ScratchFolder? = try ScratchFolder("test", in: folder.url)
    let url = try #require(scratch?.url)
    #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o700)
    #expect(try ScratchFolder("test", in: folder.url).url != url)
    // In use: neither found nor removed.
    #expect(ScratchFolder.leftovers(in: folder.url).isEmpty && !ScratchFolder.removeLeftover(url))
    withExtendedLifetime(scratch) {}
    scratch = nil
    #expect(!FileManager.default.fileExists(atPath: url.path))

    let left = folder.url.appendingPathComponent("genbench.test.abcdef")
    try FileManager.default.createDirectory(at: left.appendingPathComponent("deep"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder.path("genbench.link.abcdef"), withDestinationPath: "/etc")
    #expect(ScratchFolder.leftovers(in: folder.url).map(\.lastPathComponent) == [left.lastPathComponent])
    #expect(ScratchFolder.removeLeftover(left) && !FileManager.default.fileExists(atPath: left.path))
  }

  @Test func halfWrittenFilesAreFoundWhenNobodyWritesThem() throws {
    _ = try folder.write([1], to: ".out.json.77.1234.tmp")
    for name in [".out.json.tmp", "out.77.1234.tmp", ".a.b.77.x.tmp"] { _ = try folder.write([1], to: name) }
    #expect(AtomicFile.leftovers(in: folder.url).map(\.lastPathComponent) == [".out.json.77.1234.tmp"])
    do {
      var stream = try AtomicFileStream(path: folder.path("live"))
      try stream.write(Data([1]))
      #expect(AtomicFile.leftovers(in: folder.url).count == 1, "a file that is being written is no leftover")
      try stream.commit()
    }
    #expect(AtomicFile.removeLeftover(folder.url.appendingPathComponent(".out.json.77.1234.tmp")))
    #expect(AtomicFile.leftovers(in: folder.url).isEmpty)
    try AtomicFile.write(Data([1]), to: folder.path("secret"), mode: 0o600)
    #expect(try FileManager.default.attributesOfItem(atPath: folder.path("secret"))[.posixPermissions] as? Int == 0o600)
  }
}
