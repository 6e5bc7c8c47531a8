import Checkpoints
import DiffusionModels
import GenBackend
import Running
import Tensors

/// A model's sizes and needs, known without loading it.
struct ModelDescription {
  var architecture: DiffusionArchitecture
  var predictionType: String
  /// Side of the images that it was made for.
  var nativeSize: Int
  /// At the native size, or at the one asked for.
  var plan: ModelPlan
  /// The size that the plan is for.
  var size: ImageSize
  /// Bytes of each component's weights in the files, by component name; absent where there are no files.
  var storedBytes: [String: Int] = [:]
  /// Where it was read from.
  var location: String

  /// Describes files.
  ///
  /// - Parameters:
  ///   - path: A model of any layout.
  ///   - variant: Overrides what the files say.
  ///   - size: What to plan for; nil is the native size.
  ///   - reducesMemory: Whether the plan is for two guidance passes and a tiled VAE.
  init(path: String, variant: String?, size: ImageSize? = nil, reducesMemory: Bool = false) throws {
    var overrides = DiffusionCheckpoint.Overrides()
    overrides.variant = variant.flatMap { DiffusionVariant(rawValue: $0) }
    let checkpoint = try DiffusionCheckpoint.open(path: path, overrides: overrides)
    try self.init(
      architecture: DiffusionArchitecture(checkpoint), predictionType: checkpoint.predictionType.rawValue,
      nativeSize: checkpoint.nativeSize, size: size, reducesMemory: reducesMemory, location: path)
    var sources: [(String, any WeightSource)] = [
      ("text_encoder", checkpoint.textEncoder.weights), ("unet", checkpoint.unet), ("vae", checkpoint.vae),
    ]
    if let second = checkpoint.textEncoder2 { sources.append(("text_encoder_2", second.weights)) }
    if let safety = checkpoint.safetyChecker { sources.append(("safety_checker", safety.weights)) }
    for (name, source) in sources {
      storedBytes[name] = source.weightNames.reduce(0) { $0 + (source.weight(named: $1)?.bytes.count ?? 0) }
    }
  }

  /// Describes sizes.
  init(
    architecture: DiffusionArchitecture, predictionType: String, nativeSize: Int, size: ImageSize? = nil,
    reducesMemory: Bool = false, location: String
  ) throws {
    let size = size ?? ImageSize(width: nativeSize, height: nativeSize)
    let multiple = architecture.vae.scaleFactor
    guard size.width % multiple == 0, size.height % multiple == 0 else {
      throw CommandError(
        .usage, "size \(size): expected multiples of \(multiple), as the model's VAE has a stride of \(multiple)")
    }
    self.architecture = architecture
    self.predictionType = predictionType
    self.nativeSize = nativeSize
    self.size = size
    self.location = location
    plan = try ModelPlan(
      architecture: architecture, width: size.width, height: size.height, guidanceBatch: reducesMemory ? 1 : 2,
      tiling: reducesMemory ? TilingOptions(latentSize: max(8, 512 / multiple)) : nil)
  }

  /// Bytes of a component's weights: as stored, or in half precision.
  func weightBytes(_ component: ModelPlan.Component) -> Int {
    storedBytes[component.name] ?? component.parameterCount * 2
  }

  /// The configuration values that tell models apart.
  func keyConfig(_ component: String) -> [(key: String, value: JSONValue)] {
    func numbers(_ values: [Int]) -> JSONValue { .array(values.map { .integer($0) }) }
    func text(_ config: CLIPTextModelConfig) -> [(key: String, value: JSONValue)] {
      [
        ("hidden_size", .integer(config.hiddenSize)), ("num_hidden_layers", .integer(config.numHiddenLayers)),
        ("num_attention_heads", .integer(config.numAttentionHeads)),
      ]
    }
    switch component {
    case "text_encoder": return text(architecture.textEncoder)
    case "text_encoder_2": return architecture.textEncoder2.map(text) ?? []
    case "unet":
      let unet = architecture.unet
      var pairs: [(key: String, value: JSONValue)] = [
        ("block_out_channels", numbers(unet.blockOutChannels)), ("heads", numbers(unet.attentionHeadDim)),
        ("transformer_layers_per_block", numbers(unet.transformerLayersPerBlock)),
        ("cross_attention_dim", .integer(unet.crossAttentionDim)), ("use_linear_projection", .bool(unet.useLinearProjection)),
      ]
      if let type = unet.additionEmbedType { pairs.append(("addition_embed_type", .string(type.rawValue))) }
      return pairs
    case "vae":
      return [
        ("block_out_channels", numbers(architecture.vae.blockOutChannels)),
        ("latent_channels", .integer(architecture.vae.latentChannels)),
        ("scaling_factor", .number(architecture.vae.scalingFactor)),
      ]
    case "safety_checker":
      guard let vision = architecture.safetyChecker?.visionConfig else { return [] }
      return [("image_size", .integer(vision.imageSize)), ("hidden_size", .integer(vision.hiddenSize))]
    default: return []
    }
  }
}
