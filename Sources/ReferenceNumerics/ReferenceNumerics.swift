import Checkpoints
import DiffusionModels
package import Foundation
package import Goldens
package import KernelContract
import Synchronization
import Tensors

/// The parts of the engine in the box, for goldens of operators, networks and samplers.
package struct ReferenceNumerics: NumericsImplementation {
  package let name = "the reference engine"
  private let kernels: any KernelSet
  private let fixtures: URL

  /// Takes the kernels that it computes with, and the folder of the goldens' models.
  package init(kernels: any KernelSet, fixtures: URL) {
    self.kernels = kernels
    self.fixtures = fixtures
  }

  package func outputs(of golden: GoldenCase) async throws -> [NumericOutput]? {
    switch golden.op {
    case "linear", "conv2d", "groupNorm", "layerNorm", "rmsNorm", "attention", "geglu", "activation", "upsample":
      try KernelNumerics(kernels: kernels, golden: golden).outputs()
    case "normals": try normals(golden)
    case "latents": try latents(golden)
    case "scheduler": try SchedulerNumerics(golden).trajectories()
    case "schedule": try SchedulerNumerics(golden).tables()
    case "timesteps", "timestepEmbedding", "resnetBlock2D", "downsample2D", "upsample2D", "basicTransformerBlock",
      "transformer2DModel", "vaeAttention":
      try BlockNumerics(kernels: kernels, golden: golden).outputs()
    case "unet2DConditionModel": try unet(golden)
    case "vaeDecode", "vaeEncode", "vaeTiled": try vae(golden)
    case "clipTextModel", "clipTextModelWithProjection": try textEncoder(golden)
    case "stableDiffusionSafetyChecker": try safetyChecker(golden)
    case "clipImageProcessor": try imageProcessor(golden)
    default: nil
    }
  }

  // MARK: - Noise

  private struct NoiseAttributes: Decodable {
    struct Run: Decodable {
      var seed: String
      var sizes: [Int]
    }
    var source: String
    var runs: [Run]
  }

  private func normals(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(NoiseAttributes.self)
    guard let source = RandomSource(rawValue: attributes.source) else { return [] }
    var drawn: [Float] = []
    for run in attributes.runs {
      guard let seed = UInt64(run.seed) else {
        throw GoldenMismatch(expected: "\(golden.id): seeds of 64 bits", seen: run.seed)
      }
      var noise = source.makeNoiseSource(seed: seed)
      for size in run.sizes { drawn += noise.normals(shape: [size]).elements }
    }
    return [NumericOutput("output.normals", Tensor(drawn, shape: [drawn.count]))]
  }

  private struct LatentsAttributes: Decodable {
    var shape: [Int]
    var stride: Int
  }

  /// Every `stride`-th row and column of whole latents.
  private func latents(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(LatentsAttributes.self)
    guard attributes.shape.count == 4 else { return [] }
    let (width, stride) = (attributes.shape[3], attributes.stride)
    return try golden.tensors().weightNames.filter { $0.hasPrefix("output.") }.compactMap { name in
      guard let seed = UInt64(name.dropFirst(7)) else { return nil }
      var noise = RandomSource.torch.makeNoiseSource(seed: seed)
      let kept = noise.normals(shape: Shape(attributes.shape)).elements.enumerated()
        .filter { $0.offset % stride == 0 && $0.offset / width % stride == 0 }.map(\.element)
      return NumericOutput(name, Tensor(kept, shape: [kept.count]))
    }
  }

  // MARK: - Loading

  /// The tensors `weight.…` of a case under their own names.
  struct CaseWeights: WeightSource {
    let file: SafetensorsFile
    var location: String { file.location }
    var weightNames: [String] { file.weightNames.filter { $0.hasPrefix("weight.") }.map { String($0.dropFirst(7)) } }
    func weight(named name: String) -> WeightView? { file.weight(named: "weight." + name) }
  }

  /// Weights of a case under the names that the safety checker is built from.
  private struct SafetyWeights: WeightSource {
    let source: CaseWeights
    private let names: [String: String]

    init(_ source: CaseWeights) {
      self.source = source
      names = Dictionary(
        source.weightNames.compactMap { name in WeightKey.safetyChecker(name).map { ($0, name) } },
        uniquingKeysWith: { first, _ in first })
    }

    var location: String { source.location }
    var weightNames: [String] { names.keys.sorted() }
    func weight(named name: String) -> WeightView? { names[name].flatMap { source.weight(named: $0) } }
  }

  private func checkpoint(_ model: String) throws -> DiffusionCheckpoint {
    let path = fixtures.appendingPathComponent(model).deletingLastPathComponent().path
    return try DiffusionCheckpoint(folder: DiffusersFolder(path: path))
  }

  private func loader(_ golden: GoldenCase, _ weights: (any WeightSource)?) throws -> ParameterLoader {
    let source: any WeightSource = try weights ?? CaseWeights(file: golden.tensors())
    return ParameterLoader(FileParameters(source), kernels: kernels)
  }

  private func config<Config: Decodable>(_ own: Config?, model: String?, _ golden: GoldenCase) throws -> Config {
    if let own { return own }
    guard let model else { throw GoldenMismatch(expected: "\(golden.id): a config or a model", seen: "neither") }
    let file = fixtures.appendingPathComponent(model).appendingPathComponent("config.json")
    return try JSONDecoder().decode(Config.self, from: Data(contentsOf: file))
  }

  // MARK: - Networks

  /// Keeps what the blocks of a network put out, in order.
  private final class Blocks: Sendable {
    let outputs = Mutex<[(name: String, tensor: Tensor)]>([])
  }

  private func observing() -> (ExecutionContext, Blocks) {
    let blocks = Blocks()
    let context = ExecutionContext(kernels: kernels) { name, output in
      let tensor = output()
      blocks.outputs.withLock { $0.append((name: name, tensor: tensor)) }
    }
    return (context, blocks)
  }

  /// The blocks that the golden has, in the order in which they were computed.
  private func observed(_ blocks: Blocks, _ golden: GoldenCase) throws -> [NumericOutput] {
    let wanted = Set(try golden.tensors().weightNames)
    var seen: Set<String> = []
    return blocks.outputs.withLock { $0 }.compactMap { name, tensor in
      let full = "block." + name
      return wanted.contains(full) && seen.insert(full).inserted ? NumericOutput(full, tensor) : nil
    }
  }

  private struct UNetAttributes: Decodable {
    var config: UNet2DConditionModelConfig?
    var model: String?
    var timestep: Double
  }

  private func unet(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(UNetAttributes.self)
    let config = try config(attributes.config, model: attributes.model, golden)
    let weights: (any WeightSource)? = try attributes.model.map { try checkpoint($0).unet }
    let unet = try UNet2DConditionModel(config: config, loader: loader(golden, weights))
    var added: UNet2DConditionModel.AddedConditions?
    if config.additionEmbedType == .textTime {
      let sizes = try golden.tensor("input.time_ids")
      added = UNet2DConditionModel.AddedConditions(
        textEmbeds: try golden.tensor("input.text_embeds"),
        timeIDs: (0..<sizes.shape[0]).map { Array(sizes.elements[($0 * 6)..<($0 * 6 + 6)]) })
    }
    let (context, blocks) = observing()
    let output = try unet(
      golden.tensor("input.sample"), timestep: attributes.timestep,
      encoderHiddenStates: golden.tensor("input.encoder_hidden_states"), added: added, context)
    return try observed(blocks, golden) + [NumericOutput("output.sample", output)]
  }

  private struct VAEAttributes: Decodable {
    var config: AutoencoderKLConfig?
    var model: String?
    var tile_latent_min_size: Int?
    var tile_overlap_factor: Double?
  }

  private func vae(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(VAEAttributes.self)
    let config = try config(attributes.config, model: attributes.model, golden)
    let weights: (any WeightSource)? = try attributes.model.map { try checkpoint($0).vae }
    let vae = try AutoencoderKL(
      config: config, parts: golden.op == "vaeEncode" ? [.encoder] : [.decoder], loader: loader(golden, weights))
    let (context, blocks) = observing()
    switch golden.op {
    case "vaeEncode":
      let posterior = try vae.encode(golden.tensor("input.sample"), context)
      return try observed(blocks, golden) + [
        NumericOutput("output.mean", posterior.mean), NumericOutput("output.logvar", posterior.logVariance),
      ]
    case "vaeTiled":
      let tiling = TilingOptions(
        latentSize: attributes.tile_latent_min_size ?? 64, overlap: attributes.tile_overlap_factor ?? 0.25)
      let output = try vae.decodeTiled(golden.tensor("input.latents"), tiling: tiling, ExecutionContext(kernels: kernels))
      return [NumericOutput("output.sample", output)]
    default:
      let output = try vae.decode(golden.tensor("input.latents"), context)
      return try observed(blocks, golden) + [NumericOutput("output.sample", output)]
    }
  }

  private struct TextAttributes: Decodable {
    var config: CLIPTextModelConfig?
    var model: String?
  }

  private func textEncoder(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(TextAttributes.self)
    let hasProjection = golden.op == "clipTextModelWithProjection"
    var config: CLIPTextModelConfig
    var weights: (any WeightSource)?
    if let model = attributes.model {
      let checkpoint = try checkpoint(model)
      guard let encoder = model.hasSuffix("text_encoder") ? checkpoint.textEncoder : checkpoint.textEncoder2 else { return [] }
      config = encoder.config
      weights = encoder.weights
    } else {
      config = try self.config(attributes.config, model: nil, golden)
    }
    config.hasProjection = hasProjection
    let model = try CLIPTextModel(config: config, loader: loader(golden, weights))
    let ids = try golden.tensor("input.ids")
    let length = ids.shape[1]
    let elements = ids.elements
    let rows = (0..<ids.shape[0]).map { row in elements[(row * length)..<((row + 1) * length)].map { Int($0) } }
    let output = try model(rows, ExecutionContext(kernels: kernels))
    return output.hiddenStates.enumerated().map { NumericOutput("output.hidden_states.\($0)", $1) } + [
      NumericOutput("output.last_hidden_state", output.lastHiddenState),
      NumericOutput(hasProjection ? "output.text_embeds" : "output.pooler_output", output.pooled),
    ]
  }

  // MARK: - Safety

  private struct SafetyAttributes: Decodable {
    var config: StableDiffusionSafetyCheckerConfig?
    var model: String?
    var flagged: [Bool]
    var preprocessor: JSONValue
    var tolerances: [String: GoldenCase.Tolerance]
  }

  private func bitmap(_ golden: GoldenCase, _ name: String) throws -> Bitmap {
    guard let view = try golden.tensors().weight(named: name) else {
      throw GoldenMismatch(expected: "\(golden.id): the tensor \(name)", seen: "none")
    }
    return Bitmap(width: view.shape[1], height: view.shape[0], samples: Array(view.bytes))
  }

  private func safetyChecker(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(SafetyAttributes.self)
    let checker: StableDiffusionSafetyChecker
    if let model = attributes.model {
      guard let safety = try checkpoint(model).safetyChecker else { return [] }
      checker = try StableDiffusionSafetyChecker(config: safety.config, loader: loader(golden, safety.weights))
    } else {
      let config = try config(attributes.config, model: nil, golden)
      checker = try StableDiffusionSafetyChecker(
        config: config, loader: loader(golden, SafetyWeights(CaseWeights(file: try golden.tensors()))))
    }
    let processor = CLIPImageProcessor(config: try CLIPImageProcessorConfig(json: attributes.preprocessor, file: golden.id))
    let pixels = Tensor.concatenated(try attributes.flagged.indices.map { processor(try bitmap(golden, "input.image.\($0)")) })
    let scores = try checker(pixels, ExecutionContext(kernels: kernels))
    let flagged = scores.map(\.isFlagged)
    guard flagged == attributes.flagged else {
      throw GoldenMismatch(expected: "flags \(attributes.flagged)", seen: "\(flagged)")
    }
    let tolerance = attributes.tolerances["concept_scores"]
    return [
      NumericOutput(
        "output.concept_scores", Tensor(scores.flatMap(\.concept), shape: [scores.count, scores.first?.concept.count ?? 0]),
        tolerance: tolerance),
      NumericOutput(
        "output.special_scores", Tensor(scores.flatMap(\.special), shape: [scores.count, scores.first?.special.count ?? 0]),
        tolerance: tolerance),
    ]
  }

  private struct ProcessorAttributes: Decodable {
    var preprocessor: JSONValue?
    var config: JSONValue?
  }

  private func imageProcessor(_ golden: GoldenCase) throws -> [NumericOutput] {
    let attributes = try golden.attributes(ProcessorAttributes.self)
    guard let json = attributes.preprocessor ?? attributes.config else { return [] }
    let processor = CLIPImageProcessor(config: try CLIPImageProcessorConfig(json: json, file: golden.id))
    return [NumericOutput("output.pixel_values", processor(try bitmap(golden, "input.image")))]
  }
}
