import Checkpoints
import Foundation

/// What was installed: written into the model's folder before that gets its name.
struct InstallReceipt: Sendable, Hashable, Codable {
  /// An installed file.
  struct File: Sendable, Hashable, Codable {
    /// Its path below `files/`.
    var path: String
    var bytes: Int
    var sha256: String
    /// The role of a file that was registered; nil for one that came out of an archive or a folder.
    var role: ModelFileDescriptor.Role?
  }

  var schema = Self.schema
  /// The registration that it was made for; another one is another download.
  var sourceKey: String
  /// The main file or folder below `files/`; empty for `files/` itself.
  var mainPath: String
  var files: [File]

  static let schema = "genbench.install/1"

  var bytes: Int { files.reduce(0) { $0.addingClamped($1.bytes) } }

  /// Whether its paths stay below `files/` and its numbers can be; whoever can write the file writes anything.
  private var isPlausible: Bool {
    schema == Self.schema && (mainPath.isEmpty || RelativePath(mainPath) != nil)
      && files.allSatisfy { RelativePath($0.path) != nil && (0...TransferLength.most).contains($0.bytes) }
  }

  /// The receipt in a model's folder; nil without a readable one.
  static func read(_ url: URL) -> InstallReceipt? {
    guard let data = FileManager.default.contents(atPath: url.path),
      let receipt = try? JSONDecoder().decode(InstallReceipt.self, from: data), receipt.isPlausible
    else { return nil }
    return receipt
  }

  func write(_ url: URL) throws(RegistryError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try AtomicFile.write(try encoder.encode(self), to: url.path)
    } catch {
      throw RegistryError(.storageFailed, "\(error)")
    }
  }

  /// Whether all files are there with their sizes.
  func isComplete(in files: URL) -> Bool {
    self.files.allSatisfy { FileTree.size(files.appendingPathComponent($0.path)) == $0.bytes }
  }
}
