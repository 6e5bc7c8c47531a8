import Checkpoints
import Foundation
import ModelRegistry

/// A registered model as commands print it.
struct ModelRow {
  private let model: ModelDescriptor

  init(_ model: ModelDescriptor) { self.model = model }

  /// `downloaded`, `in place`, `registered`.
  var state: String {
    model.isDownloaded ? (model.isBuiltIn ? "in place" : "downloaded") : model.isBuiltIn ? "missing" : "registered"
  }

  /// - Parameter kind: Tells registered models from those of the catalogue, in lists that have both.
  func json(kind: String = "registered") -> JSONValue {
    [
      "kind": .string(kind), "id": .string(model.id), "name": .string(model.name), "framework": .string(model.framework.rawValue),
      "modality": .string(model.modality.rawValue), "state": .string(state),
      "download_bytes": model.downloadSize.map { .integer($0) } ?? .null,
      "memory_bytes": model.memoryRequirement.map { .integer($0) } ?? .null,
      "path": model.localPath.map { .string($0.path) } ?? .null,
      "files": .array(model.files.map { ["filename": .string($0.filename), "url": .string($0.url.shown.absoluteString)] }),
    ]
  }
}
