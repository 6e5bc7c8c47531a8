import Foundation
import GenBackend
import Goldens

/// Which model a command line means: `--model`, or `--variant` with the repository's small model of it.
struct ModelLocation: Sendable, Hashable {
  /// Families of image models.
  static let variants = ["sd15", "sd20", "sdxl"]

  /// The folder or file.
  var path: String
  /// What reports call it.
  var name: String
  /// Overrides what the files say; nil leaves it to them.
  var variant: String?

  /// The folder of all fixtures.
  ///
  /// - Throws: `inputMissing` when there's none.
  static func fixtures(explicit: String?, environment: [String: String]) throws -> URL {
    guard let folder = ProjectHome.fixtures(explicit: explicit, environment: environment) else {
      throw CommandError(
        .inputMissing,
        explicit.map { "--fixtures \($0): no such folder" }
          ?? "the Fixtures folder with the small models isn't found; give --fixtures DIR, set GENBENCH_HOME, or give --model PATH"
      )
    }
    return folder
  }

  /// The small model of a variant.
  static func small(_ variant: String, fixtures explicit: String?, environment: [String: String]) throws -> ModelLocation {
    let folder = try fixtures(explicit: explicit, environment: environment).appendingPathComponent("Models/\(variant)")
    guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("model_index.json").path) else {
      throw CommandError(
        .inputMissing, "\(folder.path): no model_index.json; the small model of \(variant) isn't in the fixtures")
    }
    return ModelLocation(path: folder.path, name: variant, variant: nil)
  }

  /// The user's model.
  static func user(_ path: String, variant: String?) throws -> ModelLocation {
    guard FileManager.default.fileExists(atPath: path) else {
      throw CommandError(
        .inputMissing, "--model \(path): no such file or folder; expected a diffusers folder, a .safetensors or a .gguf file")
    }
    return ModelLocation(path: path, name: URL(fileURLWithPath: path).lastPathComponent, variant: variant)
  }

  /// The options that say which model.
  static let options: [CommandOption] = [
    .value("model", short: "m", "path", "A diffusers folder, a .safetensors or a .gguf file.", section: "MODEL"),
    .value(
      "variant", "name", "The family; without --model, the repository's small model of it.", values: variants, section: "MODEL"),
    .value("fixtures", "dir", "The folder with the small models.", default: "found by itself", section: "MODEL"),
  ]
}
