import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import ModelRegistry
import Reporting
import Running

/// The models at hand.
struct ModelsListCommand: Command {
  static let configuration = CommandDescription(
    name: "list", abstract: "List the small models, those that were registered or downloaded, and the catalogue.",
    options: [.flag("json", "Print JSON.")] + ModelStore.options)

  private let store: String?
  private let fixtures: String?
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    store = values.string("store")
    fixtures = values.string("fixtures")
    isJSON = values.flag("json") ?? false
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    var objects: [JSONValue] = []
    var text: [String] = []
    // Without the repository's files a user still has models.
    if fixtures != nil || ProjectHome.fixtures(environment: context.environment) != nil {
      let small = try smallModels(context)
      objects += small.objects
      text.append(small.table)
    }
    let stored = try storedModels(context)
    objects += stored.objects
    text += stored.text
    context.console.print(isJSON ? JSONValue.array(objects).text() : text.joined(separator: "\n\n"))
    return .success
  }

  private func smallModels(_ context: CommandContext) throws -> (objects: [JSONValue], table: String) {
    let folder = try ModelLocation.fixtures(explicit: fixtures, environment: context.environment).appendingPathComponent("Models")
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    var table = TextTable([
      ("model", .left), ("variant", .left), ("native size", .right), ("parameters", .right), ("path", .left),
    ])
    var objects: [JSONValue] = []
    for name in names where ModelLocation.variants.contains(name) {
      let path = folder.appendingPathComponent(name).path
      do {
        let description = try ModelDescription(path: path, variant: nil)
        table.append([
          name, description.architecture.variant.rawValue, "\(description.nativeSize)x\(description.nativeSize)",
          Units.grouped(description.plan.parameterCount), path,
        ])
        objects.append([
          "kind": "small", "name": .string(name), "variant": .string(description.architecture.variant.rawValue),
          "native_size": .integer(description.nativeSize), "parameters": .integer(description.plan.parameterCount),
          "path": .string(path),
        ])
      } catch let error as CheckpointError {
        context.console.warn(error.description)
      }
    }
    return (objects, table.markdown)
  }

  private func storedModels(_ context: CommandContext) throws -> (objects: [JSONValue], text: [String]) {
    let models = try ModelStore(store: store, fixtures: fixtures, environment: context.environment)
    let registered = try models.registry.availableModels()
    var table = TextTable([
      ("id", .left), ("name", .left), ("state", .left), ("download", .right), ("memory", .right), ("path", .left),
    ])
    func size(_ bytes: Int?) -> String { bytes.map { Units.bytes(Double($0)) } ?? "" }
    var objects: [JSONValue] = []
    for model in registered {
      let row = ModelRow(model)
      table.append([
        model.id, model.name, row.state, size(model.downloadSize), size(model.memoryRequirement), model.localPath?.path ?? "",
      ])
      objects.append(row.json(kind: "registered"))
    }
    for entry in models.entries where !registered.contains(where: { $0.id == entry.registration.id }) {
      let model = entry.registration
      let state = models.registry.refusals[model.framework] == nil ? "in the catalogue" : "can't be run here"
      table.append([
        model.id, model.name, state, size(model.downloadSize), size(model.memoryRequirement),
        entry.alternative.map { "take \($0)" } ?? "",
      ])
      objects.append([
        "kind": "catalogue", "id": .string(model.id), "name": .string(model.name), "state": .string(state),
        "framework": .string(model.framework.rawValue), "modality": .string(model.modality.rawValue),
        "download_bytes": model.downloadSize.map { .integer($0) } ?? .null,
        "memory_bytes": model.memoryRequirement.map { .integer($0) } ?? .null, "license": .string(entry.license),
        "page": .string(entry.page),
      ])
    }
    let report = try models.registry.storage()
    var line = "\(models.registry.folder.path): \(Units.bytes(Double(report.modelBytes))) of models"
    if report.partialBytes > 0 { line += ", \(Units.bytes(Double(report.partialBytes))) of incomplete downloads" }
    if let free = report.freeBytes { line += ", \(Units.bytes(Double(free))) free" }
    return (objects, [table.markdown, line])
  }
}
