import Checkpoints
import Foundation
import GenBackend
import KernelContract
import Tensors
import VisionLanguageModels

/// Opens GGUF files as a model that makes text.
struct LanguageModelLoader {
  let kernels: any KernelSet
  let memoryLimit: Int?

  /// The GGUF file of a request that means a model for text; nil when it means another kind of model.
  static func file(_ request: LoadRequest) throws -> GGUFFile? {
    let asksForText = request.projectorPath != nil || request.variant?.isText == true
    guard asksForText || isGGUF(request.path) else { return nil }
    let file = try GGUFFile(path: request.path)
    if case .other = ModelFileKind(file), !asksForText { return nil }
    return file
  }

  private static func isGGUF(_ path: String) -> Bool {
    guard let handle = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? handle.close() }
    return (try? handle.read(upToCount: 4)) == Data("GGUF".utf8)
  }

  func load(_ file: GGUFFile, _ request: LoadRequest, id: ModelID, startedAt start: UInt64) throws -> LoadedLanguageModel {
    var visionModel: VisionLanguageModel?
    let model: LanguageModel
    if let path = request.projectorPath {
      let withEyes = try VisionLanguageModel(file, projector: try GGUFFile(path: path), kernels: kernels)
      visionModel = withEyes
      model = withEyes.language
    } else {
      model = try LanguageModel(file, kernels: kernels)
    }
    let architecture = model.decoder.config.architecture
    let variant = architecture == .llama && visionModel != nil ? "smolvlm" : architecture.rawValue
    if let wanted = request.variant?.rawValue, wanted != variant {
      throw BackendError(
        .invalidInput,
        "variant: '\(wanted)' was asked for, \(request.path) \(visionModel == nil ? "without projector " : "")is '\(variant)'; "
          + "leave the variant out or give other files")
    }
    let info = ModelInfo(
      id: id, variant: variant, capabilities: visionModel == nil ? [.textGeneration] : [.textGeneration, .imageUnderstanding],
      contextLength: model.decoder.config.contextLength, parameterCount: visionModel?.parameterCount ?? model.parameterCount,
      weightBytes: visionModel?.weightBytes ?? model.weightBytes, loadNs: MonotonicTime.nanoseconds() - start)
    return LoadedLanguageModel(
      info: info, model: model, visionModel: visionModel, kernels: kernels, memoryLimit: memoryLimit)
  }
}
