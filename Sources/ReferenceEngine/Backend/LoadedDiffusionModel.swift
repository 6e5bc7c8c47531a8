import Checkpoints
import DiffusionModels
import Foundation
import GenBackend
import Schedulers
import Tensors
import Tokenizers

/// A Stable Diffusion model that answers requests.
struct LoadedDiffusionModel: ReferenceBackend.LoadedModel {
  let info: ModelInfo
  let networks: DiffusionNetworks
  let tokenizers: [CLIPTokenizer]
  let reduceMemory: Bool
  let memoryLimit: Int?

  private var checkpoint: DiffusionCheckpoint { networks.checkpoint }

  func generateText(_ request: TextRequest, control: GenerationControl) throws -> TextResult {
    throw BackendError(.notSupported, "\(info.variant) makes images, not text")
  }

  func generateImages(_ request: ImageRequest, control: GenerationControl) throws -> ImageResult {
    try ImageRequestValidator(info: info, latentChannels: checkpoint.vaeConfig.latentChannels).validate(request)
    var request = request
    if let size = request.image.map({ $0.shape }), request.size == nil {
      let multiple = info.sizeMultiple
      request.size = ImageSize(width: max(size[3] / multiple, 1) * multiple, height: max(size[2] / multiple, 1) * multiple)
    }
    let (scheduler, name) = try makeScheduler(request)
    let settings = StableDiffusionPipeline.Settings(
      size: request.size ?? info.nativeSizes[0], steps: request.steps ?? info.defaultSteps,
      guidanceScale: request.guidanceScale ?? info.defaultGuidanceScale, schedulerName: name,
      seed: request.seed ?? UInt64(UInt32.random(in: 0...(.max - UInt32(clamping: request.imageCount)))))
    try StageClock(control: control).measure(.plan) { try requireMemory(settings) }
    let pipeline = StableDiffusionPipeline(
      networks: networks, promptEncoder: PromptEncoder(networks: networks, tokenizers: tokenizers), reduceMemory: reduceMemory)
    return try pipeline.run(request, settings: settings, scheduler: scheduler, control: control)
  }

  /// The requested scheduler over the model's own configuration, as diffusers' `from_config` makes it.
  private func makeScheduler(_ request: ImageRequest) throws -> (any Scheduler, String) {
    var config = try Schedulers.SchedulerConfig(checkpoint.scheduler)
    if let spacing = request.timestepSpacing { config = config.merging(["timestep_spacing": .string(spacing)]) }
    let name = try SchedulerName(request.scheduler ?? checkpoint.scheduler.className)
    let scheduler = try name.makeScheduler(config: config, eta: request.eta ?? 0)
    return (scheduler, SchedulerName(name.kind, sigmaSpacing: name.sigmaSpacing).description)
  }

  /// Refuses what can't fit, before anything is allocated.
  private func requireMemory(_ settings: StableDiffusionPipeline.Settings) throws {
    guard let available = memoryLimit ?? AvailableMemory.bytes() else { return }
    let plan = try ModelPlan(
      architecture: DiffusionArchitecture(checkpoint), width: settings.size.width, height: settings.size.height,
      guidanceBatch: settings.isGuided && !reduceMemory ? 2 : 1,
      tiling: reduceMemory ? TilingOptions(latentSize: StableDiffusionPipeline.tileSize(vae: checkpoint.vaeConfig)) : nil)
    guard plan.peakActivationBytes <= available else {
      throw BackendError(
        .outOfMemory,
        "\(settings.size): activations need \(plan.peakActivationBytes >> 20) MiB, \(available >> 20) MiB are available; "
          + (reduceMemory ? "choose a smaller size" : "choose a smaller size or reduce memory"))
    }
  }
}

extension Schedulers.SchedulerConfig {
  /// The scheduler's view of a checkpoint's `scheduler_config.json`.
  init(_ file: Checkpoints.SchedulerConfig) throws {
    try self.init(json: Data(file.json.text().utf8), defaultClass: file.className)
  }
}
