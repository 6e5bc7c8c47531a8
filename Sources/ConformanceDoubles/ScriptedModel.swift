import Conformance
import Foundation
import GenBackend

/// The models that a scripted engine finds: under made-up paths, or in folders that name them.
struct ScriptedModel: Sendable {
  var variant: String
  var sizes: [ImageSize]
  var hasChecker = true
  var defaultSteps = 20
  var defaultGuidanceScale = 7.5

  /// What stands at a path.
  ///
  /// - Throws: `modelNotFound`, `invalidModel`, `outOfMemory`.
  static func at(_ path: String) throws(BackendError) -> ScriptedModel {
    let name: String
    if path.hasPrefix(ScriptedModels.root) {
      name = String(path.dropFirst(ScriptedModels.root.count))
    } else {
      guard let data = FileManager.default.contents(atPath: path + "/model_index.json"),
        let index = try? JSONDecoder().decode([String: String].self, from: data), let scripted = index["scripted"]
      else { throw BackendError(.modelNotFound, "\(path): no model_index.json; expected a model folder") }
      name = scripted
    }
    let square = { (side: Int) in ImageSize(width: side, height: side) }
    switch name {
    case "sd15": return ScriptedModel(variant: "sd15", sizes: [square(512)])
    case "sd20": return ScriptedModel(variant: "sd20", sizes: [square(768), square(512)])
    case "sdxl": return ScriptedModel(variant: "sdxl", sizes: [square(1024)])
    case "sd15-no-checker": return ScriptedModel(variant: "sd15", sizes: [square(512)], hasChecker: false)
    case "sd15-distilled":
      return ScriptedModel(variant: "sd15", sizes: [square(512)], defaultSteps: 4, defaultGuidanceScale: 1)
    case "sd15-no-tokenizer":
      throw BackendError(.invalidModel, "\(path): tokenizer/vocab.json is missing; download the model again")
    case "huge": throw BackendError(.outOfMemory, "\(path): needs 40000 MiB, 3000 MiB are available")
    default: throw BackendError(.modelNotFound, "\(path): no such file or folder")
    }
  }
}
