import GenBackend
import KernelContract
import Tensors
import Tokenizers
import VisionLanguageModels

/// A language model, with or without eyes, that answers requests.
struct LoadedLanguageModel: ReferenceBackend.LoadedModel {
  let info: ModelInfo
  let model: LanguageModel
  /// The same language model with its eyes; nil when it was loaded without a projector.
  let visionModel: VisionLanguageModel?
  let kernels: any KernelSet
  let memoryLimit: Int?

  func generateImages(_ request: ImageRequest, control: GenerationControl) throws -> ImageResult {
    throw BackendError(.notSupported, "\(info.variant) makes text, not images")
  }

  func generateText(_ request: TextRequest, control: GenerationControl) throws -> TextResult {
    let start = MonotonicTime.nanoseconds()
    let validator = TextRequestValidator(info: info)
    try validator.validate(request)
    let clock = StageClock(control: control)
    let context = ExecutionContext(kernels: kernels, cancellation: control.cancellation)
    let generation = TextGeneration(model: model, context: context, clock: clock, startNs: start)
    let sampling = TokenSampler.Settings(request.sampling)
    if let bitmap = request.image {
      guard let visionModel else { throw validator.missingProjector }
      let image = try clock.measure(.imagePreprocess) { try visionModel.vision.preprocess(bitmap) }
      let ids = try clock.measure(.tokenize) { try visionModel.ids(try text(of: request), image: image, framed: request.isRaw) }
      try check(ids, request, validator)
      let features = try encode(image, visionModel, clock: clock, context)
      let prompt = visionModel.prompt(ids: ids, image: image, features: features)
      return try generation.run(prompt, maxTokens: request.maxTokens, sampling: sampling)
    }
    let ids = try clock.measure(.tokenize) { model.encode(try text(of: request), framed: request.isRaw) }
    if let visionModel, visionModel.mentionsImage(ids) {
      throw BackendError(.invalidInput, "the prompt speaks of an image ('\(visionModel.imageMarker)'), but none was given")
    }
    try check(ids, request, validator)
    return try generation.run(model.prompt(ids: ids), maxTokens: request.maxTokens, sampling: sampling)
  }

  /// The image's embeddings, part by part, the tower's and the projector's time apart.
  private func encode(
    _ image: PreprocessedImage, _ model: VisionLanguageModel, clock: StageClock, _ context: ExecutionContext
  ) throws -> Tensor {
    let hidden = try clock.measure(.visionEncode) {
      try (0..<model.vision.partCount(image)).map { try model.vision.encode(image, part: $0, context) }
    }
    return clock.measure(.projector) { Tensor.concatenated(hidden.map { model.vision.project($0, context) }) }
  }

  private func check(_ ids: [Int], _ request: TextRequest, _ validator: TextRequestValidator) throws {
    try validator.validate(promptTokens: ids.count)
    try requireMemory(promptTokens: ids.count, maxTokens: request.maxTokens)
  }

  /// The prompt as it is, or as the model's chat template has it.
  private func text(of request: TextRequest) throws -> String {
    if request.isRaw { return request.prompt }
    let image: [ChatMessage.Part] = request.image == nil ? [] : [.image]
    let turns = request.turns.map { turn in
      switch turn.role {
      case .system: ChatMessage(.system, turn.text)
      case .user: ChatMessage(.user, turn.text)
      case .assistant: ChatMessage(.assistant, turn.text)
      }
    }
    do {
      return try model.template.render(turns + [ChatMessage(.user, image + [.text(request.prompt)])])
    } catch {
      throw BackendError(.invalidInput, error.description)
    }
  }

  private func requireMemory(promptTokens: Int, maxTokens: Int) throws {
    guard let available = memoryLimit ?? AvailableMemory.bytes() else { return }
    let config = model.decoder.config
    let capacity = min(config.contextLength, promptTokens + min(maxTokens, config.contextLength))
    let needed = KVCache.byteCount(config, capacity: capacity)
    guard needed <= available else {
      throw BackendError(
        .outOfMemory,
        "\(capacity) tokens need \(needed >> 20) MiB of keys and values, \(available >> 20) MiB are available; ask for fewer tokens"
      )
    }
  }
}
