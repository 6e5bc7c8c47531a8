import Foundation
import Goldens
import ModelRegistry
import Running

/// The registry and the catalogue that a command line means.
struct ModelStore: Sendable {
  let registry: ModelRegistry
  /// Empty without fixtures.
  let entries: [ModelCatalogue.Entry]
  private let catalogue: ModelCatalogue?

  static let options: [CommandOption] = [
    .value("store", "dir", "The folder of downloaded models.", default: "GENBENCH_MODELS, or the user's cache", section: "STORE"),
    .value(
      "fixtures", "dir", "The folder with the catalogue and the small models.", default: "found by itself", section: "STORE"),
  ]

  /// - Throws: `badInput` when the catalogue is damaged.
  init(store: String?, fixtures: String?, environment: [String: String], policy: DownloadPolicy = DownloadPolicy()) throws {
    let folder = store.map { URL(fileURLWithPath: $0) } ?? ModelRegistry.defaultFolder(environment: environment)
    registry = ModelRegistry(folder: folder, policy: policy)
    if let fixtures {
      catalogue = try ModelCatalogue.shipped(in: try ModelLocation.fixtures(explicit: fixtures, environment: environment))
    } else {
      // A user with a registered model needs no catalogue.
      catalogue = try ProjectHome.fixtures(environment: environment)
        .flatMap { FileManager.default.fileExists(atPath: $0.path + "/catalogue/models.json") ? $0 : nil }
        .map { try ModelCatalogue.shipped(in: $0) }
    }
    entries = catalogue?.entries ?? []
  }

  func entry(_ id: String) -> ModelCatalogue.Entry? { catalogue?[id] }

  /// A registered model; nil when there's none of that id.
  func registered(_ id: String) throws -> ModelDescriptor? {
    let models = try registry.availableModels()
    if let model = models.first(where: { $0.id == id }) { return model }
    // A name from the catalogue leads to the model that was registered from it.
    return entry(id).flatMap { entry in models.first { $0.id == entry.registration.id } }
  }

  /// The model of an id, registered from the catalogue when it wasn't yet.
  ///
  /// - Throws: `inputMissing` for an unknown id, `usage` for a model that can't be run here, with the one to take.
  func resolve(_ id: String) throws -> ModelDescriptor {
    if let model = try registered(id) { return model }
    guard let entry = entry(id) else {
      let known = entries.map(\.registration.id) + (try registry.availableModels()).map(\.id)
      throw CommandError(
        .inputMissing,
        "'\(id)' is neither registered nor in the catalogue"
          + (Suggestion.nearest(to: id, among: known).map { "; did you mean '\($0)'?" } ?? "; see `genbench models list`"))
    }
    if let reason = registry.refusals[entry.registration.framework] {
      throw CommandError(
        .usage, "\(entry.registration.id): \(reason)" + (entry.alternative.map { "; take '\($0)'" } ?? ""))
    }
    return try registry.register(entry.registration)
  }
}

extension ProgramExit {
  /// The status for an error of the registry.
  static func kind(of error: RegistryError, signal: Int32?) -> Kind {
    switch error.code {
    case .modelNotFound: .inputMissing
    case .invalidInput, .notSupported, .inUse: .usage
    case .networkFailed, .httpError: .backendUnavailable
    case .invalidContent, .checksumMismatch, .extractionFailed, .unsupportedArchive: .badInput
    case .insufficientStorage, .storageFailed: .cannotWrite
    case .cancelled: signal == 15 ? .terminated : .interrupted
    }
  }
}
