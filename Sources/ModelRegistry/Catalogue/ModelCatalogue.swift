import Checkpoints
public import Foundation

/// Models that are known without being registered: a file with their addresses, sizes and needs.
public struct ModelCatalogue: Sendable, Hashable {
  /// One known model.
  public struct Entry: Sendable, Hashable {
    /// What would be registered.
    public let registration: ModelRegistration
    /// Other names that it's found by.
    public let aliases: [String]
    /// Its licence, which the user accepts by downloading.
    public let license: String
    /// Where one can read about it.
    public let page: String
    /// Something worth knowing.
    public let note: String?
    /// The id of a model to take in its place, when this one can't be run here.
    public let alternative: String?
  }

  /// The models, in the order of the file.
  public let entries: [Entry]

  private struct File: Decodable {
    struct Model: Decodable {
      struct Item: Decodable {
        var path: String
        var role: ModelFileDescriptor.Role?
        var sha256: String?
        var bytes: Int?
        var optional: Bool?
      }
      struct Archive: Decodable {
        var format: ArchiveFormat
        var structure: ArchiveStructure
      }
      var id: String
      var aliases: [String]
      var name: String
      var framework: ModelFramework
      var modality: ModelModality
      var base: String
      var files: [Item]
      var archive: Archive?
      var approximate_download_bytes: Int?
      var memory_bytes: Int?
      var license: String
      var page: String
      var note: String?
      var alternative: String?
    }
    var schema: String
    var models: [Model]
  }

  private static let schema = "genbench.catalogue/1"

  /// Reads a catalogue.
  ///
  /// - Parameter name: What messages call it.
  /// - Throws: ``RegistryError`` `invalidInput` when it isn't one, names a model twice, or a model can't be registered.
  public init(data: Data, name: String) throws(RegistryError) {
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: data)
    } catch {
      throw RegistryError(.invalidInput, "\(name): not a catalogue of models, or a damaged one")
    }
    guard file.schema == Self.schema else {
      throw RegistryError(.invalidInput, "\(name): schema: expected \(Self.schema), found \(file.schema)")
    }
    var entries: [Entry] = []
    var names: Set<String> = []
    for model in file.models {
      for known in [model.id] + model.aliases {
        guard names.insert(known.lowercased()).inserted else {
          throw RegistryError(.invalidInput, "\(name): '\(known)' is there twice")
        }
      }
      entries.append(try Self.entry(model, name: name))
    }
    self.entries = entries
  }

  private static func entry(_ model: File.Model, name: String) throws(RegistryError) -> Entry {
    var files: [ModelFileDescriptor] = []
    for item in model.files {
      guard let url = URL(string: model.base + item.path) else {
        throw RegistryError(.invalidInput, "\(name): \(model.id): '\(model.base + item.path)' is no address")
      }
      files.append(
        ModelFileDescriptor(
          url: url, filename: item.path, role: item.role, sizeBytes: item.bytes, sha256: item.sha256,
          isOptional: item.optional ?? false))
    }
    let registration = try ModelRegistration(
      id: model.id, name: model.name, framework: model.framework, modality: model.modality,
      artifactType: model.archive.map { .archive($0.format, structure: $0.structure) } ?? .multiFile, files: files,
      memoryRequirement: model.memory_bytes, approximateDownloadSize: model.approximate_download_bytes)
    return Entry(
      registration: registration, aliases: model.aliases, license: model.license, page: model.page, note: model.note,
      alternative: model.alternative)
  }

  /// The catalogue in a folder of fixtures.
  ///
  /// - Throws: ``RegistryError`` `storageFailed` when it isn't there, `invalidInput`.
  public static func shipped(in fixtures: URL) throws(RegistryError) -> ModelCatalogue {
    let url = fixtures.appendingPathComponent("catalogue/models.json")
    guard let data = FileManager.default.contents(atPath: url.path) else {
      throw RegistryError(.storageFailed, "\(url.path): the catalogue of models isn't there")
    }
    return try ModelCatalogue(data: data, name: url.path)
  }

  /// A model by its id or one of its other names, however they're capitalised.
  public subscript(_ name: String) -> Entry? {
    let wanted = name.lowercased()
    return entries.first { $0.registration.id.lowercased() == wanted || $0.aliases.contains { $0.lowercased() == wanted } }
  }
}
