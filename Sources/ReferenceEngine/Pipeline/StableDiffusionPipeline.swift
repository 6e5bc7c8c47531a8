import Checkpoints
import DiffusionModels
import GenBackend
import KernelContract
import Schedulers
import Tensors

/// Text-to-image, image-to-image and inpainting of Stable Diffusion 1.5, 2.0 and XL; equals diffusers'
/// `StableDiffusionPipeline`, `StableDiffusionImg2ImgPipeline`, `StableDiffusionInpaintPipeline` (with a four-channel UNet)
/// and their XL counterparts, in the order of their random draws too.
struct StableDiffusionPipeline {
  let networks: DiffusionNetworks
  let promptEncoder: PromptEncoder
  /// Runs the two guidance halves one after the other, and the VAE with scarce memory, in tiles where it's large.
  let reduceMemory: Bool

  private var checkpoint: DiffusionCheckpoint { networks.checkpoint }

  /// A request with all defaults filled in.
  struct Settings {
    var size: ImageSize
    var steps: Int
    var guidanceScale: Double
    var schedulerName: String
    var seed: UInt64
    var isGuided: Bool { guidanceScale > 1 }
  }

  /// The embeddings of one request, shared by its images.
  private struct Conditioning {
    var positive: PromptEmbeddings
    var negative: PromptEmbeddings?
    var droppedTokens: Int
  }

  /// Makes all images of a request.
  ///
  /// - Throws: `BackendError`, `CancelledError`, `CheckpointError`, `SchedulerError`.
  func run(_ request: ImageRequest, settings: Settings, scheduler: any Scheduler, control: GenerationControl) throws
    -> ImageResult
  {
    let clock = StageClock(control: control)
    var trace: [String: Tensor] = [:]
    let blocks = BlockRecorder()
    var context = ExecutionContext(kernels: networks.kernels, cancellation: control.cancellation)
    if request.traceLevel == .block {
      context.observeBlock = { name, output in blocks.record(name, output()) }
    }

    let conditioning = try encodePrompts(request, settings: settings, clock: clock, context)
    if request.traceLevel != .none {
      trace["prompt_embeds"] = conditioning.positive.sequence
      trace["negative_prompt_embeds"] = conditioning.negative?.sequence
      trace["pooled_prompt_embeds"] = conditioning.positive.pooled
      trace["negative_pooled_prompt_embeds"] = conditioning.negative?.pooled
    }

    var images: [ImageResult.Image] = []
    var stepsRun = settings.steps
    for index in 0..<request.imageCount {
      var imageSettings = settings
      imageSettings.seed = settings.seed &+ UInt64(index)
      var run = DenoisingRun(
        pipeline: self, request: request, settings: imageSettings, scheduler: scheduler, clock: clock, context: context,
        recordsTrace: request.traceLevel != .none && index == 0)
      let latents = try run.denoise(
        positive: conditioning.positive, negative: conditioning.negative, trace: &trace)
      stepsRun = run.stepsRun
      if reduceMemory { BufferPool.current.trim() }

      var pixels = try decode(latents, clock: clock, context)
      try requireFinite(pixels, "VAE: the image", weights: [checkpoint.vae])
      if run.recordsTrace { trace["image"] = pixels }
      if let source = run.inpainting { pixels = source.restoringKeptPixels(in: pixels) }
      let (bitmap, safety) = try checked(Bitmap(unitValues: pixels), request: request, clock: clock, context)
      images.append(ImageResult.Image(bitmap: bitmap, safety: safety, seed: imageSettings.seed))
      if reduceMemory { BufferPool.current.trim() }
    }
    trace.merge(blocks.outputs) { own, _ in own }
    return ImageResult(
      images: images, scheduler: settings.schedulerName, steps: stepsRun, guidanceScale: settings.guidanceScale,
      droppedTokens: conditioning.droppedTokens, trace: trace)
  }

  // MARK: - Text

  private func encodePrompts(
    _ request: ImageRequest, settings: Settings, clock: StageClock, _ context: ExecutionContext
  ) throws -> Conditioning {
    // diffusers stands zeros in for an absent negative prompt of XL, but encodes an empty one.
    let usesZeros = request.negativePrompt == nil && checkpoint.forceZerosForEmptyPrompt && checkpoint.variant == .sdxl
    let tokens = try clock.measure(.tokenize) { () throws -> (positive: [PromptTokens], negative: [PromptTokens]?) in
      var positive = try promptEncoder.tokenize(request.prompt, name: "prompt", longPrompt: request.longPrompt)
      guard settings.isGuided, !usesZeros else { return (positive, nil) }
      var negative = try promptEncoder.tokenize(
        request.negativePrompt ?? "", name: "negative prompt", longPrompt: request.longPrompt)
      let windows = (positive + negative).map(\.windows.count).max() ?? 1
      positive = try promptEncoder.padded(positive, toWindows: windows)
      negative = try promptEncoder.padded(negative, toWindows: windows)
      return (positive, negative)
    }
    let dropped = tokens.positive.map(\.droppedTokens).max() ?? 0
    for (name, prompt) in [("prompt", tokens.positive), ("negative prompt", tokens.negative ?? [])] {
      guard let dropped = prompt.map(\.droppedTokens).max(), dropped > 0 else { continue }
      clock.control.onEvent(
        .warning("\(name): \(dropped) tokens beyond the encoder's window were dropped; shorten it or use chunks"))
    }
    return try clock.measure(.textEncode) {
      let positive = try promptEncoder.encode(tokens.positive, clipSkip: request.clipSkip, context)
      var negative: PromptEmbeddings?
      if settings.isGuided {
        if let negativeTokens = tokens.negative {
          // Of the XL pipelines too: only the positive prompt leaves layers out.
          negative = try promptEncoder.encode(negativeTokens, clipSkip: nil, context)
        } else {
          negative = PromptEmbeddings(
            sequence: Tensor(zeros: positive.sequence.shape), pooled: positive.pooled.map { Tensor(zeros: $0.shape) })
        }
      }
      let encoders = [checkpoint.textEncoder.weights] + (checkpoint.textEncoder2.map { [$0.weights] } ?? [])
      try requireFinite(positive.sequence, "text encoder: the prompt's embedding", weights: encoders)
      return Conditioning(positive: positive, negative: negative, droppedTokens: dropped)
    }
  }

  // MARK: - Pixels

  /// Latents to pixels in 0...1, `[1, 3, H, W]`.
  private func decodePixels(_ latents: Tensor, _ context: ExecutionContext) throws -> Tensor {
    let vae = try networks.vaeDecoder()
    let scale = Float(checkpoint.vaeConfig.scalingFactor)
    let scaled = latents.map { $0 / scale }
    let image =
      reduceMemory
      ? try vae.decodeTiled(scaled, tiling: TilingOptions(latentSize: tileSize), context) : try vae.decode(scaled, context)
    return image.map { value in value.isNaN ? value : min(max(value / 2 + 0.5, 0), 1) }
  }

  private func decode(_ latents: Tensor, clock: StageClock, _ context: ExecutionContext) throws -> Tensor {
    try clock.measure(.vaeDecode) { try decodePixels(latents, context) }
  }

  /// Edge of a VAE tile in latents: 64, as in diffusers, so that images up to 512 pixels are decoded whole, band by band.
  private var tileSize: Int { Self.tileSize(vae: checkpoint.vaeConfig) }

  /// Edge of a VAE tile in latents for a model.
  static func tileSize(vae: AutoencoderKLConfig) -> Int { max(8, 512 / vae.scaleFactor) }

  /// A preview of an intermediate sample, checked as the final image is.
  func preview(_ latents: Tensor, step: Int, request: ImageRequest, clock: StageClock, _ context: ExecutionContext) throws {
    let (bitmap, safety) = try clock.measure(.preview, index: step) {
      try checkedUntimed(Bitmap(unitValues: try decodePixels(latents, context)), request: request, context)
    }
    clock.control.onEvent(.preview(step: step, image: bitmap, safety: safety))
  }

  private func checked(
    _ bitmap: Bitmap, request: ImageRequest, clock: StageClock, _ context: ExecutionContext
  ) throws -> (Bitmap, SafetyOutcome) {
    guard request.checksSafety, checkpoint.safetyChecker != nil else { return (bitmap, .unchecked) }
    return try clock.measure(.safetyCheck) { try checkedUntimed(bitmap, request: request, context) }
  }

  private func checkedUntimed(
    _ bitmap: Bitmap, request: ImageRequest, _ context: ExecutionContext
  ) throws -> (Bitmap, SafetyOutcome) {
    guard request.checksSafety, let safety = checkpoint.safetyChecker, let checker = try networks.safetyChecker() else {
      return (bitmap, .unchecked)
    }
    let pixels = CLIPImageProcessor(config: safety.imageProcessor)(bitmap)
    let scores = try checker(pixels, context)
    guard scores.allSatisfy({ !$0.isFlagged }) else {
      return (
        Bitmap(width: bitmap.width, height: bitmap.height, samples: [UInt8](repeating: 0, count: bitmap.samples.count)), .filtered
      )
    }
    return (bitmap, .passed)
  }
}
