import Checkpoints
import Foundation

/// The list of registered models, a file that several processes share.
struct RegistryIndex: Sendable {
  private struct File: Codable {
    var schema: String
    var models: [ModelRegistration]
  }

  private static let schema = "genbench.models/1"
  let layout: StoreLayout

  /// What is registered, in the order of registration.
  ///
  /// - Throws: ``RegistryError`` `storageFailed` when the file is damaged.
  func load() throws(RegistryError) -> [ModelRegistration] {
    guard let data = FileManager.default.contents(atPath: layout.index.path) else { return [] }
    do {
      let file = try JSONDecoder().decode(File.self, from: data)
      guard file.schema == Self.schema else {
        throw RegistryError(
          .storageFailed, "\(layout.index.path): schema: expected \(Self.schema), found \(file.schema); use a newer genbench")
      }
      return file.models
    } catch let error as RegistryError {
      throw error
    } catch {
      throw RegistryError(
        .storageFailed,
        "\(layout.index.path): the list of models is damaged (\(error)); move it away and register the models again")
    }
  }

  /// Changes the list while no other process does.
  func update(_ change: (inout [ModelRegistration]) throws(RegistryError) -> Void) throws(RegistryError) {
    try layout.prepare()
    // Held for the time of reading and writing one small file.
    let lock = try FileLock.take(layout.indexLock, waits: true)
    defer { withExtendedLifetime(lock) {} }
    let before = try load()
    var models = before
    try change(&models)
    guard models != before else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try AtomicFile.write(try encoder.encode(File(schema: Self.schema, models: models)), to: layout.index.path)
    } catch {
      throw RegistryError(.storageFailed, "\(error)")
    }
  }
}
