package import Foundation
import Goldens

/// Which model a command line means: `--model`, or `--variant` with the repository's small model of it or, with
/// `--full-size`, the published sizes with generated weights.
package struct ModelLocation: Sendable, Hashable {
  /// Families of image models.
  package static let variants = ["sd15", "sd20", "sdxl"]

  /// The folder or file; empty for a full-size model, whose weights are still to be written.
  package var path: String
  /// What reports call it.
  package var name: String
  /// Overrides what the files say; nil leaves it to them.
  package var variant: String?
  /// Whether it's the published size with generated weights.
  package var isFullSize = false
  /// The projector that belongs to it, when it was registered with one.
  package var projectorPath: String?

  /// Names a model.
  package init(path: String, name: String, variant: String?, isFullSize: Bool = false, projectorPath: String? = nil) {
    self.path = path
    self.name = name
    self.variant = variant
    self.isFullSize = isFullSize
    self.projectorPath = projectorPath
  }

  /// The folder of all fixtures.
  ///
  /// - Throws: `inputMissing` when there's none.
  package static func fixtures(explicit: String?, environment: [String: String]) throws -> URL {
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
  package static func small(_ variant: String, fixtures explicit: String?, environment: [String: String]) throws -> ModelLocation
  {
    let folder = try fixtures(explicit: explicit, environment: environment).appendingPathComponent("Models/\(variant)")
    guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("model_index.json").path) else {
      throw CommandError(
        .inputMissing, "\(folder.path): no model_index.json; the small model of \(variant) isn't in the fixtures")
    }
    return ModelLocation(path: folder.path, name: variant, variant: nil)
  }

  /// The published size of a variant.
  package static func fullSize(_ variant: String) -> ModelLocation {
    ModelLocation(path: "", name: "\(variant)-full", variant: variant, isFullSize: true)
  }
}
