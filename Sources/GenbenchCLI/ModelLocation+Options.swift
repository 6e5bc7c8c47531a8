import Checkpoints
import Foundation
import GenBackend
import ModelRegistry
import Running
import Synchronization

extension ModelLocation {
  /// The user's model: a path, or the id of a model that is downloaded.
  static func user(_ path: String, variant: String?, environment: [String: String]) throws -> ModelLocation {
    if FileManager.default.fileExists(atPath: path) {
      return ModelLocation(
        path: try HuggingFaceCache.model(in: path) ?? path, name: URL(fileURLWithPath: path).lastPathComponent, variant: variant)
    }
    // Ids may have slashes, as `org/name`; what is clearly a path needs no look into the store.
    let isPath =
      ["/", "./", "../", "~"].contains { path.hasPrefix($0) }
      || [".safetensors", ".gguf"].contains { path.contains("/") && path.lowercased().hasSuffix($0) }
    let store = isPath ? nil : try ModelStore(store: nil, fixtures: nil, environment: environment)
    if let id = try store?.registered(path)?.id, let registry = store?.registry {
      try hold(id, of: registry)
      let model = try registry.model(id)
      guard let found = model.localPath else {
        throw CommandError(.inputMissing, "--model \(path): not downloaded; get it with `genbench models download \(path)`")
      }
      return ModelLocation(
        path: found.path, name: model.id, variant: variant, projectorPath: model.localFile(.visionProjector)?.path)
    }
    if store?.entry(path) != nil {
      throw CommandError(.inputMissing, "--model \(path): not downloaded; get it with `genbench models download \(path)`")
    }
    throw CommandError(
      .inputMissing,
      "--model \(shown(path)): no such file or folder, and no model of that id; expected a diffusers folder, a .safetensors or a .gguf "
        + "file, or an id of `genbench models list`")
  }

  /// The leases of the models that a command uses: they aren't deleted before it ends.
  final class Leases: Sendable {
    fileprivate let held = Mutex<[ModelLease]>([])
  }

  /// The running command's.
  @TaskLocal static var leases = Leases()

  /// - Throws: ``RegistryError`` `inUse` while the model is being deleted.
  private static func hold(_ id: String, of registry: ModelRegistry) throws {
    let lease: ModelLease
    do { lease = try registry.lease(id) } catch {
      // A store that can only be read: nobody else deletes there either, or not by this user.
      if error.code == .storageFailed { return }
      throw error
    }
    leases.held.withLock { $0.append(lease) }
  }

  /// An address without its password; anything else as it is.
  private static func shown(_ text: String) -> String {
    text.contains("://") ? URL(string: text)?.shown.absoluteString ?? "that address" : text
  }

  /// What `--model`, `--variant` and `--full-size` mean together.
  static func resolve(
    model: String?, variant: String?, isFullSize: Bool, fixtures: String?, environment: [String: String]
  ) throws -> ModelLocation {
    if let model { return try user(model, variant: variant, environment: environment) }
    let variant = variant ?? ""
    return isFullSize ? fullSize(variant) : try small(variant, fixtures: fixtures, environment: environment)
  }

  /// Calls `body` with the files; writes them first, and deletes them after, when they're generated.
  func withFiles<Result>(
    fixtures: String?, size: ImageSize? = nil, reducesMemory: Bool = false, context: CommandContext,
    _ body: (String) async throws -> Result
  ) async throws -> Result {
    guard isFullSize, let variant else { return try await body(path) }
    let weights = try FullSizeWeights.make(
      variant, fixtures: fixtures, size: try size ?? FullSizeWeights.describe(variant).size, reducesMemory: reducesMemory,
      context: context)
    defer { weights.remove() }
    return try await body(weights.folder.path)
  }

  /// Refuses options that contradict each other.
  static func check(model: String?, variant: String?, isFullSize: Bool) throws(UsageError) {
    if isFullSize, model != nil { throw UsageError("--full-size generates the weights; it can't go with --model") }
    if isFullSize, variant == nil { throw UsageError("--full-size needs --variant, the family whose sizes are meant") }
  }

  /// The options that say which model.
  static let options: [CommandOption] = [
    .value(
      "model", short: "m", "path|id", "A diffusers folder, a .safetensors or a .gguf file, or a downloaded model's id.",
      section: "MODEL"),
    .value(
      "variant", "name", "The family; without --model, the repository's small model of it.", values: variants, section: "MODEL"),
    .flag("full-size", "The variant's published sizes with generated weights (nothing is downloaded).", section: "MODEL"),
    .value("fixtures", "dir", "The folder with the small models.", default: "found by itself", section: "MODEL"),
  ]
}
