import Checkpoints
import Foundation

/// Where things are in a store.
///
/// ```
/// index.json                      what is registered
/// secrets.json                    addresses with passwords or tokens; mode 0600
/// models/<slug>/receipt.json      what is installed there
/// models/<slug>/files/            its files
/// partial/<slug>/                 a download that isn't complete
/// locks/  trash/
/// ```
struct StoreLayout: Sendable {
  let root: URL

  var index: URL { root.appendingPathComponent("index.json") }
  var indexLock: String { root.appendingPathComponent("locks/index.lock").path }
  /// The addresses of the index as they are, with what must not be shown; for the owner's eyes.
  var secrets: URL { root.appendingPathComponent("secrets.json") }
  var trash: Trash { Trash(folder: root.appendingPathComponent("trash")) }
  /// The folder of all downloads that aren't complete.
  var partials: URL { root.appendingPathComponent("partial") }

  /// The folder of an installed model.
  func model(_ id: String) -> URL { root.appendingPathComponent("models").appendingPathComponent(Self.slug(id)) }
  func receipt(_ id: String) -> URL { model(id).appendingPathComponent("receipt.json") }
  func files(_ id: String) -> URL { model(id).appendingPathComponent("files") }
  /// The folder of a download that isn't complete.
  func partial(_ id: String) -> URL { partials.appendingPathComponent(Self.slug(id)) }
  /// Held by whoever downloads or deletes the model.
  func installLock(_ id: String) -> String { installLock(slug: Self.slug(id)) }
  func installLock(slug: String) -> String { root.appendingPathComponent("locks/\(slug).install.lock").path }
  /// Shared by all who have it loaded.
  func useLock(_ id: String) -> String { root.appendingPathComponent("locks/\(Self.slug(id)).use.lock").path }

  /// A name for a folder: readable, unique, the same on disks that ignore case.
  ///
  /// Ids that are equal as texts, however their accents are composed, have one slug.
  static func slug(_ id: String) -> String {
    let id = id.precomposedStringWithCanonicalMapping
    let kept = id.lowercased().map { character -> Character in
      character.isASCII && (character.isLetter || character.isNumber || "-_".contains(character)) ? character : "-"
    }
    return String(kept.prefix(48)) + "-" + SHA256.hex(id.utf8).prefix(10)
  }

  /// Makes the folders.
  ///
  /// - Throws: ``RegistryError`` `storageFailed`.
  func prepare() throws(RegistryError) {
    for name in ["models", "partial", "locks", "trash"] {
      try FileTree.makeFolder(root.appendingPathComponent(name))
    }
  }
}
