public import Checkpoints
import KernelContract
import Tensors

/// The sizes of all networks of a model: enough to plan it, without its weights.
public struct DiffusionArchitecture: Sendable {
  /// The family.
  public var variant: DiffusionVariant
  /// The denoiser.
  public var unet: UNet2DConditionModelConfig
  /// The autoencoder.
  public var vae: AutoencoderKLConfig
  /// The text encoder.
  public var textEncoder: CLIPTextModelConfig
  /// The second text encoder of XL.
  public var textEncoder2: CLIPTextModelConfig?
  /// The safety checker, where there is one.
  public var safetyChecker: StableDiffusionSafetyCheckerConfig?

  /// Makes an architecture.
  public init(
    variant: DiffusionVariant, unet: UNet2DConditionModelConfig, vae: AutoencoderKLConfig, textEncoder: CLIPTextModelConfig,
    textEncoder2: CLIPTextModelConfig? = nil, safetyChecker: StableDiffusionSafetyCheckerConfig? = nil
  ) {
    self.variant = variant
    self.unet = unet
    self.vae = vae
    self.textEncoder = textEncoder
    self.textEncoder2 = textEncoder2
    self.safetyChecker = safetyChecker
  }

  /// The architecture of a checkpoint.
  public init(_ checkpoint: DiffusionCheckpoint) {
    self.init(
      variant: checkpoint.variant, unet: checkpoint.unetConfig, vae: checkpoint.vaeConfig,
      textEncoder: checkpoint.textEncoder.config, textEncoder2: checkpoint.textEncoder2?.config,
      safetyChecker: checkpoint.safetyChecker?.config)
  }

  /// The side of the images that it is made for, in pixels; 64 latents where the configuration doesn't say.
  public var nativeSize: Int { (unet.sampleSize ?? 64) * vae.scaleFactor }
}

/// What a model needs, known before it's loaded: parameters, operations and memory of each component.
///
/// Found by building the real networks on an inventory of parameters and running them on operators that only count.
public struct ModelPlan: Sendable {
  /// An operator at one shape, and how often a pass calls it.
  public struct OperatorCalls: Sendable, Hashable {
    /// The shape.
    public var shape: OperatorShape
    /// Calls of one pass.
    public var count: Int
  }

  /// One network, run once.
  public struct Component: Sendable, Hashable {
    /// The folder's name in a diffusers model: `unet`.
    public var name: String
    /// The class: `UNet2DConditionModel`.
    public var className: String
    /// The shapes of all parameters.
    public var parameters: [ParameterInventory.Parameter]
    /// Floating-point operations of one pass for one image (batch 1).
    public var floatingPointOperations: Double
    /// Bytes that its operators read and write in that pass: operands, weights, results.
    public var bytesMoved: Double
    /// The most bytes that activations take at a time in a pass as the pipeline makes it (batch 2 under guidance).
    public var peakActivationBytes: Int
    /// Every operator's shapes in that pass as the pipeline makes it, with the number of calls.
    public var operators: [OperatorCalls]

    /// The number of weights.
    public var parameterCount: Int { parameters.reduce(0) { $0 + $1.shape.elementCount } }
  }

  /// Bytes that a process takes beside activations and mapped weights, measured with two threads: tables of the tokenizers, norms
  /// and biases in single precision, and what each thread packs weights into.
  public static let processBytes = 28 << 20

  /// The components in the order in which an image passes through them.
  public var components: [Component]

  /// The component of a name.
  public subscript(name: String) -> Component? { components.first { $0.name == name } }

  /// The weights of all components.
  public var parameterCount: Int { components.reduce(0) { $0 + $1.parameterCount } }

  /// The largest activations of any component.
  public var peakActivationBytes: Int { components.map(\.peakActivationBytes).max() ?? 0 }

  /// The most memory that can't be dropped, as mapped weights can: the largest activations and what the process takes besides.
  public var peakAnonymousBytes: Int { peakActivationBytes + Self.processBytes }

  /// Plans text-to-image.
  ///
  /// - Parameters:
  ///   - architecture: The networks.
  ///   - width: Image width in pixels, a multiple of what the model's strides allow.
  ///   - height: Image height in pixels.
  ///   - guidanceBatch: 2 when both guidance halves run in one batch, 1 when they run one after the other.
  ///   - tiling: How the VAE decodes with scarce memory; nil for the whole image at once.
  /// - Throws: `CheckpointError` when a configuration contradicts itself.
  public init(
    architecture: DiffusionArchitecture, width: Int, height: Int, guidanceBatch: Int = 2, tiling: TilingOptions? = nil
  ) throws {
    let textLength = architecture.textEncoder.maxPositionEmbeddings
    var components = [
      try Self.textEncoder("text_encoder", architecture.textEncoder, className: "CLIPTextModel", batch: guidanceBatch)
    ]
    if let second = architecture.textEncoder2 {
      components.append(
        try Self.textEncoder("text_encoder_2", second, className: "CLIPTextModelWithProjection", batch: guidanceBatch))
    }

    let scale = architecture.vae.scaleFactor
    let latents = { (batch: Int) in
      Tensor(zeros: [batch, architecture.unet.inChannels, height / scale, width / scale])
    }
    components.append(
      try Self.component("unet", className: "UNet2DConditionModel", batch: guidanceBatch) { loader in
        let unet = try UNet2DConditionModel(config: architecture.unet, loader: loader)
        return { batch, context in
          var added: UNet2DConditionModel.AddedConditions?
          if let second = architecture.textEncoder2 {
            added = UNet2DConditionModel.AddedConditions(
              textEmbeds: Tensor(zeros: [batch, second.projectionDim]),
              timeIDs: Array(repeating: Array(repeating: 0, count: 6), count: batch))
          }
          let text = Tensor(zeros: [batch, textLength, architecture.unet.crossAttentionDim])
          _ = try unet(latents(batch), timestep: 1, encoderHiddenStates: text, added: added, context)
        }
      })
    components.append(
      try Self.component("vae", className: "AutoencoderKL", batch: 1) { loader in
        let vae = try AutoencoderKL(config: architecture.vae, parts: [.encoder, .decoder], loader: loader)
        return { batch, context in
          let input = Tensor(zeros: [batch, architecture.vae.latentChannels, height / scale, width / scale])
          if let tiling { _ = try vae.decodeTiled(input, tiling: tiling, context) } else { _ = try vae.decode(input, context) }
        }
      })
    if let safety = architecture.safetyChecker {
      components.append(
        try Self.component("safety_checker", className: "StableDiffusionSafetyChecker", batch: 1) { loader in
          let checker = try StableDiffusionSafetyChecker(config: safety, loader: loader)
          return { batch, context in
            _ = try checker(Tensor(zeros: [batch, 3, checker.imageSize, checker.imageSize]), context)
          }
        })
    }
    self.components = components
  }

  private static func textEncoder(
    _ name: String, _ config: CLIPTextModelConfig, className: String, batch: Int
  ) throws -> Component {
    try component(name, className: className, batch: batch) { loader in
      let model = try CLIPTextModel(config: config, loader: loader)
      return { batch, context in
        let ids = Array(repeating: 0, count: config.maxPositionEmbeddings)
        _ = try model(Array(repeating: ids, count: batch), context)
      }
    }
  }

  /// Builds a network from an inventory and runs it on counting operators: at batch 1 for the operations, at `batch` for memory.
  private static func component(
    _ name: String, className: String, batch: Int,
    build: (ParameterLoader) throws -> (_ batch: Int, _ context: ExecutionContext) throws -> Void
  ) throws -> Component {
    let inventory = ParameterInventory()
    let kernels = PlanningKernels()
    let context = ExecutionContext(kernels: kernels)
    let run = try build(ParameterLoader(inventory, kernels: kernels))
    try BufferPool.withOwnPool { _ in try run(1, context) }
    let operations = kernels.floatingPointOperations
    let traffic = kernels.bytesMoved
    let called = OperatorInventory()
    let peak = try BufferPool.withOwnPool { pool in
      try run(batch, ExecutionContext(kernels: called))
      return pool.statistics.peakBytes
    }
    return Component(
      name: name, className: className, parameters: inventory.parameters, floatingPointOperations: operations,
      bytesMoved: traffic, peakActivationBytes: peak,
      operators: called.operators.map { OperatorCalls(shape: $0.shape, count: $0.count) })
  }
}
