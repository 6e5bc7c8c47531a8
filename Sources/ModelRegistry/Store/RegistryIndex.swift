import Checkpoints
import Foundation

/// The list of registered models, a file that several processes share.
///
/// Addresses are written as they may be shown. Those with a password or a token stand in a second file, which only its owner
/// can read.
struct RegistryIndex: Sendable {
  private struct File: Codable {
    var schema: String
    var models: [ModelRegistration]
  }

  private struct Secrets: Codable {
    var schema: String
    /// The address by the id and the name of the file, with a line feed between them.
    var urls: [String: URL]
  }

  private static let schema = "genbench.models/1"
  private static let secretsSchema = "genbench.secrets/1"
  let layout: StoreLayout

  /// What is registered, in the order of registration; addresses are whole where this user may read them.
  ///
  /// - Throws: ``RegistryError`` `storageFailed` when the file is damaged or can't be read: only one that isn't there is empty.
  func load() throws(RegistryError) -> [ModelRegistration] {
    // Another user's passwords needn't be known for looking at the list.
    let secrets = (try? loadSecrets()) ?? [:]
    return try loadShown().map { $0.revealing(secrets) }
  }

  /// Changes the list while no other process does.
  func update(_ change: (inout [ModelRegistration]) throws(RegistryError) -> Void) throws(RegistryError) {
    try layout.prepare()
    // Held for the time of reading and writing one small file.
    let lock = try FileLock.take(layout.indexLock, waits: true)
    defer { withExtendedLifetime(lock) {} }
    let secrets = try loadSecrets()
    let shown = try loadShown()
    let before = shown.map { $0.revealing(secrets) }
    var models = before
    try change(&models)
    guard models != before else { return }
    var newSecrets: [String: URL] = [:]
    for model in models { newSecrets.merge(model.secretURLs) { $1 } }
    // First: an address without its password can't be mended, one too many does no harm.
    if newSecrets != secrets {
      try write(Secrets(schema: Self.secretsSchema, urls: newSecrets), to: layout.secrets, mode: 0o600)
    }
    try write(File(schema: Self.schema, models: models), to: layout.index, mode: 0o644)
  }

  private func write(_ value: some Encodable, to url: URL, mode: mode_t) throws(RegistryError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try AtomicFile.write(try encoder.encode(value), to: url.path, mode: mode)
    } catch {
      throw RegistryError(.storageFailed, "\(error)")
    }
  }

  private func loadShown() throws(RegistryError) -> [ModelRegistration] {
    guard let data = try read(layout.index) else { return [] }
    let file: File = try decode(data, layout.index, "the list of models")
    try check(file.schema, Self.schema, layout.index)
    return file.models
  }

  private func loadSecrets() throws(RegistryError) -> [String: URL] {
    guard let data = try read(layout.secrets) else { return [:] }
    let file: Secrets = try decode(data, layout.secrets, "the list of addresses")
    try check(file.schema, Self.secretsSchema, layout.secrets)
    return file.urls
  }

  /// The content; nil only when there's no such file.
  private func read(_ url: URL) throws(RegistryError) -> Data? {
    var status = stat()
    if lstat(url.path, &status) != 0, errno == ENOENT || errno == ENOTDIR { return nil }
    do { return try Data(contentsOf: url) } catch {
      throw RegistryError(
        .storageFailed,
        "\(url.path): can't be read, so nothing is changed; look at its permissions: "
          + error.localizedDescription)
    }
  }

  private func decode<Value: Decodable>(_ data: Data, _ url: URL, _ what: String) throws(RegistryError) -> Value {
    do { return try JSONDecoder().decode(Value.self, from: data) } catch let error as RegistryError {
      throw RegistryError(.storageFailed, "\(url.path): \(what) is damaged: \(error.message); mend it, or move it away")
    } catch {
      throw RegistryError(
        .storageFailed, "\(url.path): \(what) is damaged; move it away and register the models again")
    }
  }

  private func check(_ found: String, _ expected: String, _ url: URL) throws(RegistryError) {
    guard found == expected else {
      throw RegistryError(
        .storageFailed, "\(url.path): schema: expected \(expected), found \(found); use a newer genbench")
    }
  }
}
