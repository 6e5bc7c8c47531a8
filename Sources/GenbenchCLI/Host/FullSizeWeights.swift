import Checkpoints
import DiffusionModels
import Foundation
import GenBackend
import Goldens
import ReferenceEngine
import Running
import Tensors

/// A model of a published size with generated weights, on disk for as long as it's measured.
struct FullSizeWeights: Sendable {
  /// The diffusers folder.
  let folder: URL

  /// Writes the weights into a folder of their own below the system's temporary one.
  ///
  /// - Throws: `cannotWrite` when they don't fit on the disk, `CancelledError` when the command is stopped; nothing is left then.
  static func make(_ variant: String, fixtures: String?, context: CommandContext) throws -> FullSizeWeights {
    let vocabulary = try ModelLocation.fixtures(explicit: fixtures, environment: context.environment)
      .appendingPathComponent("Models/clip-vocabulary")
    let temporary = FileManager.default.temporaryDirectory
    let needed = try describe(variant).plan.parameterCount * 2
    let free = (try? FileManager.default.attributesOfFileSystem(forPath: temporary.path))?[.systemFreeSize] as? Int
    if let free, free < needed + 1 << 28 {
      throw CommandError(
        .cannotWrite,
        "\(temporary.path): \(needed >> 20) MiB of weights don't fit, \(free >> 20) MiB are free; set TMPDIR to a larger disk")
    }
    let weights = FullSizeWeights(
      folder: temporary.appendingPathComponent("genbench-\(variant)-\(ProcessInfo.processInfo.processIdentifier)"))
    let display = ProgressDisplay("writing \(variant) weights", total: 100, console: context.console)
    defer { display.finish() }
    do {
      try FullSizeModel.write(variant: variant, to: weights.folder, vocabulary: vocabulary) { share in
        display.update(done: Int(share * 100))
        return !context.cancellation.isCancelled
      }
    } catch is CancelledError {
      weights.remove()
      throw BackendError(.cancelled, "stopped while the weights were written")
    } catch {
      weights.remove()
      throw error
    }
    return weights
  }

  /// Deletes the weights.
  func remove() { try? FileManager.default.removeItem(at: folder) }

  /// The sizes of a published model.
  static func describe(_ variant: String, size: ImageSize? = nil, reducesMemory: Bool = false) throws -> ModelDescription {
    guard let kind = DiffusionVariant(rawValue: variant) else {
      throw UsageError("--full-size needs --variant \(ModelLocation.variants.joined(separator: "|"))")
    }
    let architecture = try DiffusionArchitecture(fullSize: kind)
    return try ModelDescription(
      architecture: architecture, predictionType: kind == .sd20 ? "v_prediction" : "epsilon",
      nativeSize: architecture.nativeSize, size: size, reducesMemory: reducesMemory,
      location: "\(variant), full size")
  }
}
