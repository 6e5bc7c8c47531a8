import Checkpoints
import DiffusionModels
import Foundation
import Reporting

/// The models at hand.
struct ModelsListCommand: Command {
  static let configuration = CommandDescription(
    name: "list", abstract: "List the models at hand.",
    options: [
      .value("fixtures", "dir", "The folder with the small models.", default: "found by itself"),
      .flag("json", "Print JSON."),
    ])

  private let fixtures: String?
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    fixtures = values.string("fixtures")
    isJSON = values.flag("json") ?? false
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
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
          "name": .string(name), "variant": .string(description.architecture.variant.rawValue),
          "native_size": .integer(description.nativeSize), "parameters": .integer(description.plan.parameterCount),
          "path": .string(path),
        ])
      } catch let error as CheckpointError {
        context.console.warn(error.description)
      }
    }
    context.console.print(isJSON ? JSONValue.array(objects).text() : table.markdown)
    return .success
  }
}
