package import GenBackend
import Tensors

/// `generate_images`: an image to make; settings that are left out are the model's own.
package struct ImageMessage: Sendable, Codable {
  package var model: String
  package var prompt: String
  package var negativePrompt: String?
  package var width: Int?
  package var height: Int?
  package var steps: Int?
  package var guidanceScale: Double?
  package var guidanceRescale: Double?
  package var scheduler: String?
  package var timestepSpacing: String?
  package var eta: Double?
  package var seed: UInt64?
  package var randomSource: String?
  package var latents: TensorReference?
  package var image: TensorReference?
  package var mask: TensorReference?
  package var strength: Double?
  package var imageCount: Int?
  package var checksSafety: Bool?
  package var previewStride: Int?
  package var traceLevel: String?
  package var longPrompt: String?
  package var clipSkip: Int?

  private enum CodingKeys: String, CodingKey {
    case model, prompt, width, height, steps, scheduler, eta, seed, latents, image, mask, strength
    case negativePrompt = "negative_prompt"
    case guidanceScale = "guidance_scale"
    case guidanceRescale = "guidance_rescale"
    case timestepSpacing = "timestep_spacing"
    case randomSource = "random_source"
    case imageCount = "image_count"
    case checksSafety = "checks_safety"
    case previewStride = "preview_stride"
    case traceLevel = "trace_level"
    case longPrompt = "long_prompt"
    case clipSkip = "clip_skip"
  }

  /// Writes the tensors into the folder; settings that are the default are left out.
  package init(_ request: ImageRequest, model: String, folder: ExchangeFolder) throws(BackendError) {
    let standard = ImageRequest(model: request.model, prompt: request.prompt)
    self.model = model
    prompt = request.prompt
    negativePrompt = request.negativePrompt
    width = request.size?.width
    height = request.size?.height
    steps = request.steps
    guidanceScale = request.guidanceScale
    if request.guidanceRescale != standard.guidanceRescale { guidanceRescale = request.guidanceRescale }
    scheduler = request.scheduler?.description
    timestepSpacing = request.timestepSpacing?.rawValue
    eta = request.eta
    seed = request.seed
    if request.randomSource != standard.randomSource { randomSource = request.randomSource.rawValue }
    latents = try request.latents.map { (tensor) throws(BackendError) in try folder.write(tensor, as: "latents") }
    image = try request.image.map { (tensor) throws(BackendError) in try folder.write(tensor, as: "image") }
    mask = try request.mask.map { (tensor) throws(BackendError) in try folder.write(tensor, as: "mask") }
    if request.image != nil { strength = request.strength }
    if request.imageCount != standard.imageCount { imageCount = request.imageCount }
    if request.checksSafety != standard.checksSafety { checksSafety = request.checksSafety }
    previewStride = request.previewStride
    if request.traceLevel != standard.traceLevel { traceLevel = request.traceLevel.rawValue }
    if request.longPrompt != standard.longPrompt { longPrompt = request.longPrompt.rawValue }
    clipSkip = request.clipSkip
  }

  /// Reads the tensors; values that aren't known are refused.
  package func request(_ reader: ExchangeReader) throws(BackendError) -> ImageRequest {
    var request = ImageRequest(model: ModelID(model), prompt: prompt)
    request.negativePrompt = negativePrompt
    guard (width == nil) == (height == nil) else {
      throw BackendError(.invalidInput, "width and height: expected both or none, found one of them")
    }
    if let width, let height { request.size = ImageSize(width: width, height: height) }
    request.steps = steps
    request.guidanceScale = guidanceScale
    if let guidanceRescale { request.guidanceRescale = guidanceRescale }
    if let scheduler {
      do { request.scheduler = try SchedulerName(scheduler) } catch {
        throw BackendError(.invalidInput, "scheduler: \(error.message)")
      }
    }
    if let timestepSpacing { request.timestepSpacing = try choice("timestep_spacing", timestepSpacing) }
    request.eta = eta
    request.seed = seed
    if let randomSource { request.randomSource = try choice("random_source", randomSource) }
    if let latents { request.latents = try reader.tensor(latents) }
    if let image { request.image = try reader.tensor(image) }
    if let mask { request.mask = try reader.tensor(mask) }
    if let strength { request.strength = strength }
    if let imageCount { request.imageCount = imageCount }
    if let checksSafety { request.checksSafety = checksSafety }
    request.previewStride = previewStride
    if let traceLevel { request.traceLevel = try choice("trace_level", traceLevel) }
    if let longPrompt { request.longPrompt = try choice("long_prompt", longPrompt) }
    request.clipSkip = clipSkip
    return request
  }
}

/// `images`: the images that were made.
package struct ImagesReply: Sendable, Codable {
  /// One image.
  package struct Image: Sendable, Codable {
    package var image: TensorReference
    package var safety: String
    package var seed: UInt64?

    package init(image: TensorReference, safety: String, seed: UInt64?) {
      self.image = image
      self.safety = safety
      self.seed = seed
    }
  }

  package var images: [Image]
  package var scheduler: String?
  package var steps: Int?
  package var guidanceScale: Double?
  package var droppedTokens: Int?
  /// A file of the exchange folder.
  package var trace: String?
  package var unavailable: [String: String]?

  private enum CodingKeys: String, CodingKey {
    case images, scheduler, steps, trace, unavailable
    case guidanceScale = "guidance_scale"
    case droppedTokens = "dropped_tokens"
  }

  /// Writes the pixels and the trace into the folder.
  package init(_ result: ImageResult, folder: ExchangeFolder) throws(BackendError) {
    images = []
    for made in result.images {
      let reference = try folder.write(made.bitmap, as: "image")
      images.append(Image(image: reference, safety: made.safety.rawValue, seed: made.seed))
    }
    scheduler = result.scheduler
    steps = result.steps
    guidanceScale = result.guidanceScale
    droppedTokens = result.droppedTokens
    trace = result.trace.isEmpty ? nil : try folder.write(result.trace)
  }

  /// Reads and checks what was made for a request.
  ///
  /// - Throws: `BackendError` `.processingFailed` for another number of images, another size, values that aren't finite.
  package func result(of request: ImageRequest, _ reader: ExchangeReader) throws(BackendError) -> ImageResult {
    func refuse(_ what: String) -> BackendError { BackendError(.processingFailed, "the reply: \(what)") }
    guard images.count == request.imageCount else {
      throw refuse("expected \(request.imageCount) images, found \(images.count)")
    }
    var made: [ImageResult.Image] = []
    for (index, image) in images.enumerated() {
      guard let safety = SafetyOutcome(rawValue: image.safety) else {
        throw refuse("safety of image \(index): expected passed, filtered or unchecked, found '\(image.safety)'")
      }
      let bitmap = try reader.bitmap(image.image)
      if let size = request.size, bitmap.width != size.width || bitmap.height != size.height {
        throw refuse("image \(index): expected \(size), found \(bitmap.width)x\(bitmap.height)")
      }
      let seed = image.seed ?? (request.seed ?? 0) &+ UInt64(index)
      made.append(ImageResult.Image(bitmap: bitmap, safety: safety, seed: seed))
    }
    if let steps, steps < 0 { throw refuse("steps: expected at least 0, found \(steps)") }
    if let droppedTokens, droppedTokens < 0 { throw refuse("dropped_tokens: expected at least 0, found \(droppedTokens)") }
    return ImageResult(
      images: made, scheduler: scheduler ?? request.scheduler?.description ?? "unknown", steps: steps ?? request.steps ?? 0,
      guidanceScale: guidanceScale ?? request.guidanceScale ?? 0, droppedTokens: droppedTokens ?? 0,
      trace: try trace.map { (file) throws(BackendError) in try reader.tensors(file) } ?? [:])
  }
}
