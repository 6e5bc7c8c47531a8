import Foundation
import GenBackend

/// What a run is to measure.
struct RunSettings: Sendable {
  var models: [ModelLocation]
  var backend: BackendSpecification
  /// Empty lists mean the model's own.
  var steps: [Int] = []
  var sizes: [ImageSize] = []
  var schedulers: [String] = []
  var guidanceScale: Double?
  var negativePrompt: String?
  var seed: UInt64 = 0
  var prompts: [String]
  var repetitions = 1
  var warmups = 1
  var precision = "f32"
  var reduceMemory = false
  /// Where all files go.
  var folder: URL

  /// One configuration of a loaded model.
  struct Configuration: Sendable, Hashable {
    var size: ImageSize
    var steps: Int
    var scheduler: String
  }

  /// The full product of sizes, schedulers and steps.
  func configurations(of info: ModelInfo) -> [Configuration] {
    let sizes = sizes.isEmpty ? Array(info.nativeSizes.prefix(1)) : sizes
    let schedulers = schedulers.isEmpty ? [info.defaultScheduler ?? "default"] : schedulers
    let steps = steps.isEmpty ? [info.defaultSteps] : steps
    return sizes.flatMap { size in
      schedulers.flatMap { scheduler in steps.map { Configuration(size: size, steps: $0, scheduler: scheduler) } }
    }
  }

  /// Images of the whole run, warm-ups included.
  var imageCount: Int {
    models.count * max(1, sizes.count) * max(1, schedulers.count) * max(1, steps.count) * (warmups + prompts.count * repetitions)
  }

  /// The settings for the record.
  var record: [String: String] {
    func joined(_ values: [String]) -> String { values.isEmpty ? "model's own" : values.joined(separator: ",") }
    return [
      "models": models.map(\.name).joined(separator: ","), "backend": backend.kind.rawValue,
      "kernels": backend.kernels ?? "default",
      "threads": backend.threads.map(String.init) ?? "default", "steps": joined(steps.map(String.init)),
      "sizes": joined(sizes.map(\.description)), "schedulers": joined(schedulers),
      "guidance_scale": guidanceScale.map { "\($0)" } ?? "model's own", "negative_prompt": negativePrompt ?? "none",
      "seed": String(seed), "prompts": String(prompts.count), "repetitions": String(repetitions), "warmups": String(warmups),
      "precision": precision, "reduce_memory": String(reduceMemory),
    ]
  }
}
