import Checkpoints
import DiffusionModels
import GenBackend
import KernelContract
import Schedulers
import Tensors

/// The way of one image from noise to latents.
struct DenoisingRun {
  let pipeline: StableDiffusionPipeline
  let request: ImageRequest
  let settings: StableDiffusionPipeline.Settings
  var scheduler: any Scheduler
  let clock: StageClock
  let context: ExecutionContext
  let recordsTrace: Bool

  /// What is kept of the start image, when inpainting.
  private(set) var inpainting: InpaintingSource?
  /// The steps that were run.
  private(set) var stepsRun = 0

  private var noise: any NoiseSource

  init(
    pipeline: StableDiffusionPipeline, request: ImageRequest, settings: StableDiffusionPipeline.Settings,
    scheduler: any Scheduler,
    clock: StageClock, context: ExecutionContext, recordsTrace: Bool
  ) {
    self.pipeline = pipeline
    self.request = request
    self.settings = settings
    self.scheduler = scheduler
    self.clock = clock
    self.context = context
    self.recordsTrace = recordsTrace
    noise = request.randomSource.makeNoiseSource(seed: settings.seed)
  }

  private var networks: DiffusionNetworks { pipeline.networks }

  /// Runs the loop.
  ///
  /// - Returns: The final latents, `[1, 4, h, w]`.
  mutating func denoise(
    positive: PromptEmbeddings, negative: PromptEmbeddings?, trace: inout [String: Tensor]
  ) throws -> Tensor {
    try scheduler.setTimesteps(numInferenceSteps: settings.steps)
    let start =
      request.image == nil
      ? 0 : try scheduler.startIndex(numInferenceSteps: settings.steps, strength: request.strength)
    var latents = try initialLatents(start: start)
    let unet = try networks.unet()
    let timesteps = scheduler.timesteps
    // Entries that complete a step, by diffusers' rule for its progress bar: the first entry of PNDM isn't a step of its own;
    // Heun and DPM2 take two entries a step.
    let (order, count) = (scheduler.order, timesteps.count - start)
    let warmup = count - (settings.steps * order - start)
    let completesStep = (0..<count).map { $0 == count - 1 || ($0 + 1 > warmup && ($0 + 1) % order == 0) }
    let total = completesStep.count { $0 }
    if recordsTrace {
      trace["latents.init"] = latents
      trace["timesteps"] = Tensor(timesteps[start...].map { Float($0) }, shape: [timesteps.count - start])
    }

    for index in start..<timesteps.count {
      try clock.measure(.step, index: index - start) {
        let input = try scheduler.scaleModelInput(latents, at: index)
        let prediction = try predict(
          unet, input: input, timestep: timesteps[index], positive: positive, negative: negative)
        try context.cancellation.check()
        try requireFinite(
          prediction, "UNet: the prediction of step \(index - start + 1)", weights: [networks.checkpoint.unet])
        let step = try clock.measure(.schedulerStep, index: index - start) {
          try scheduler.step(modelOutput: prediction, at: index, sample: latents, noise: &noise)
        }
        latents = step.prevSample
        if let inpainting { latents = try inpainting.restoringKeptLatents(in: latents, after: index, scheduler: scheduler) }
        if recordsTrace {
          trace["noise_pred.\(index - start)"] = prediction
          trace["latents.\(index - start)"] = latents
        }
        if completesStep[index - start] {
          stepsRun += 1
          if let stride = request.previewStride, stepsRun % stride == 0 || stepsRun == total {
            try pipeline.preview(
              step.predOriginalSample ?? latents, step: stepsRun, request: request, clock: clock, context)
          }
          clock.control.onEvent(.progress(step: stepsRun, total: total, timeNs: MonotonicTime.nanoseconds()))
        }
      }
      // A handler that asked for the end during the last step is heard too.
      try context.cancellation.check()
    }
    return latents
  }

  // MARK: - Start

  private mutating func initialLatents(start: Int) throws -> Tensor {
    let config = networks.checkpoint.vaeConfig
    let shape: Shape = [
      1, config.latentChannels, settings.size.height / config.scaleFactor, settings.size.width / config.scaleFactor,
    ]
    guard let image = request.image else {
      return clock.measure(.latents) {
        let unit = request.latents ?? noise.normals(shape: shape)
        let sigma = scheduler.initNoiseSigma
        return unit.map { $0 * sigma }
      }
    }

    // The order of draws is diffusers': the posterior first, then the noise.
    let source = StartImage(image: image, size: settings.size)
    let imageLatents = try clock.measure(.imageEncode) {
      let posterior = try networks.vaeEncoder().encode(
        source.tensor, memory: pipeline.reduceMemory ? .scarce : .ample, context)
      let scale = Float(config.scalingFactor)
      return posterior.sample(noise: noise.normals(shape: shape)).map { $0 * scale }
    }
    let unit = clock.measure(.latents) { request.latents ?? noise.normals(shape: shape) }
    if let mask = request.mask {
      // diffusers also encodes the masked image, which only a nine-channel UNet looks at; its draw is made all the same.
      _ = noise.normals(shape: shape)
      inpainting = InpaintingSource(
        image: source.unitValues, mask: source.resized(mask), imageLatents: imageLatents, noise: unit, latentShape: shape)
      if request.strength >= 1 {
        let sigma = scheduler.initNoiseSigma
        return unit.map { $0 * sigma }
      }
    }
    return try scheduler.addNoise(imageLatents, noise: unit, at: start)
  }

  // MARK: - Prediction

  private func predict(
    _ unet: UNet2DConditionModel, input: Tensor, timestep: Double, positive: PromptEmbeddings, negative: PromptEmbeddings?
  ) throws -> Tensor {
    guard let negative else {
      return try clock.measure(.unetConditional) { try run(unet, input, timestep, [positive]) }
    }
    let unconditional: Tensor
    let conditional: Tensor
    if pipeline.reduceMemory {
      unconditional = try clock.measure(.unetUnconditional) { try run(unet, input, timestep, [negative]) }
      conditional = try clock.measure(.unetConditional) { try run(unet, input, timestep, [positive]) }
    } else {
      let both = try clock.measure(.unet) { try run(unet, Tensor.concatenated([input, input]), timestep, [negative, positive]) }
      unconditional = both.slice(0..<1)
      conditional = both.slice(1..<2)
    }
    let prediction = guided(unconditional: unconditional, conditional: conditional, scale: settings.guidanceScale)
    guard request.guidanceRescale > 0 else { return prediction }
    return rescaledGuidance(prediction, conditional: conditional, rescale: request.guidanceRescale)
  }

  private func run(
    _ unet: UNet2DConditionModel, _ input: Tensor, _ timestep: Double, _ prompts: [PromptEmbeddings]
  ) throws -> Tensor {
    var added: UNet2DConditionModel.AddedConditions?
    let pooled = prompts.compactMap(\.pooled)
    if pooled.count == prompts.count {
      // Original size, crop corner, target size: diffusers' defaults are the requested size, uncropped.
      let (height, width) = (Float(settings.size.height), Float(settings.size.width))
      added = UNet2DConditionModel.AddedConditions(
        textEmbeds: Tensor.concatenated(pooled),
        timeIDs: Array(repeating: [height, width, 0, 0, height, width], count: prompts.count))
    }
    return try unet(
      input, timestep: timestep, encoderHiddenStates: Tensor.concatenated(prompts.map(\.sequence)), added: added, context)
  }
}
