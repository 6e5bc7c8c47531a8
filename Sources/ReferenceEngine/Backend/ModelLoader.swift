import Checkpoints
import DiffusionModels
import Foundation
import GenBackend
import KernelContract
import Schedulers
import Tensors
import Tokenizers

/// Opens files as a model of the engine.
struct ModelLoader {
  let options: ReferenceBackend.Options
  let kernels: any KernelSet

  func load(_ request: LoadRequest, id: ModelID, startedAt start: UInt64, control: GenerationControl) throws
    -> any ReferenceBackend.LoadedModel
  {
    guard let kernels = kernels.with(request.precision) else {
      throw BackendError(
        .notSupported,
        "precision \(request.precision.rawValue): the kernels '\(kernels.name)' don't have it (bf16 needs a CPU with AVX-512 BF16); use f32"
      )
    }
    if let file = try LanguageModelLoader.file(request) {
      return try LanguageModelLoader(kernels: kernels, memoryLimit: options.memoryLimit)
        .load(file, request, id: id, startedAt: start)
    }
    var overrides = DiffusionCheckpoint.Overrides(opensSafetyChecker: request.safety != .off)
    // Models of text were opened above.
    overrides.variant = request.variant.flatMap { DiffusionVariant(rawValue: $0.rawValue) }
    overrides.predictionType = request.predictionType
    let checkpoint = try DiffusionCheckpoint.open(path: request.path, overrides: overrides)
    if request.safety == .required, checkpoint.safetyChecker == nil {
      throw BackendError(
        .invalidModel,
        "\(request.path): a safety checker was asked for, but the model has none; use a model with one or turn the checker off")
    }

    var tokenizers = [try tokenizer(checkpoint.textEncoder)]
    if let second = checkpoint.textEncoder2 { tokenizers.append(try tokenizer(second)) }
    let networks = DiffusionNetworks(
      checkpoint: checkpoint, kernels: kernels, keepsNetworks: !request.reduceMemory, isStrict: request.isStrict)
    try networks.buildAll()
    for line in networks.surplus { control.onEvent(.warning(line)) }
    let scheduler = try SchedulerName(checkpoint.scheduler.className ?? "")
    let info = modelInfo(checkpoint, scheduler, id: id, loadNs: MonotonicTime.nanoseconds() - start)
    return LoadedDiffusionModel(
      info: info, defaultScheduler: scheduler, networks: networks, tokenizers: tokenizers, reduceMemory: request.reduceMemory,
      memoryLimit: options.memoryLimit
    )
  }

  private func tokenizer(_ encoder: TextEncoderCheckpoint) throws -> CLIPTokenizer {
    let tokenizer: CLIPTokenizer
    switch encoder.tokenizer.files {
    case .vocabAndMerges(let path, _), .tokenizerJSON(let path):
      // The whole folder counts: special tokens and the padding are in files beside these.
      tokenizer = try CLIPTokenizer(folder: URL(fileURLWithPath: path).deletingLastPathComponent())
    case .standard:
      guard let folder = options.clipVocabulary else {
        throw BackendError(
          .modelNotFound,
          "the checkpoint carries no tokenizer, and CLIP's vocabulary isn't at hand; point GENBENCH_HOME to the folder that holds Fixtures"
        )
      }
      tokenizer = try CLIPTokenizer(folder: folder, paddingToken: encoder.tokenizer.padToken)
    }
    guard tokenizer.vocabularySize <= encoder.config.vocabSize else {
      throw BackendError(
        .invalidModel,
        "tokenizer: \(tokenizer.vocabularySize) tokens, but the text encoder has embeddings for \(encoder.config.vocabSize); they don't belong together"
      )
    }
    return tokenizer
  }

  private func modelInfo(_ checkpoint: DiffusionCheckpoint, _ scheduler: SchedulerName, id: ModelID, loadNs: UInt64) -> ModelInfo
  {
    var capabilities: Set<Capability> = [
      .textToImage, .imageToImage, .inpainting, .negativePrompt, .previews, .latentsInput, .trace, .batch, .reduceMemory,
    ]
    if checkpoint.safetyChecker != nil { capabilities.insert(.safetyChecker) }
    var sources: [any WeightSource] = [checkpoint.unet, checkpoint.vae, checkpoint.textEncoder.weights]
    if let second = checkpoint.textEncoder2 { sources.append(second.weights) }
    if let safety = checkpoint.safetyChecker { sources.append(safety.weights) }
    var parameters = 0
    var bytes = 0
    for source in sources {
      for name in source.weightNames {
        guard let view = source.weight(named: name) else { continue }
        parameters += view.shape.elementCount
        bytes += view.bytes.count
      }
    }
    return ModelInfo(
      id: id, variant: checkpoint.variant.rawValue, capabilities: capabilities,
      nativeSizes: [ImageSize(width: checkpoint.nativeSize, height: checkpoint.nativeSize)],
      sizeMultiple: checkpoint.vaeConfig.scaleFactor, predictionType: checkpoint.predictionType,
      defaultScheduler: scheduler.kind.rawValue, defaultSteps: 20,
      defaultGuidanceScale: checkpoint.variant == .sdxl ? 5 : 7.5, parameterCount: parameters, weightBytes: bytes, loadNs: loadNs)
  }
}
