public import Schedulers
public import Tensors

/// The families of models that can be asked for.
public enum ModelVariant: String, Sendable, Hashable, Codable, CaseIterable {
  /// Stable Diffusion 1.x.
  case sd15
  /// Stable Diffusion 2.x.
  case sd20
  /// Stable Diffusion XL.
  case sdxl
  /// SmolVLM (Idefics3).
  case smolvlm
  /// Qwen2-VL.
  case qwen2vl

  /// Whether it makes text.
  public var isText: Bool { self == .smolvlm || self == .qwen2vl }
}

/// What to load and how.
public struct LoadRequest: Sendable, Hashable, Codable {
  /// How the safety checker is treated.
  public enum SafetyPolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// The load fails when the model has none.
    case required
    /// Used when the model has one; otherwise results say `unchecked`.
    case ifPresent = "if_present"
    /// Not loaded; results say `unchecked`.
    case off
  }

  /// A folder or file.
  public var path: String
  /// A second file: the projector of a vision-language model.
  public var projectorPath: String?
  /// Overrides what the files say.
  public var variant: ModelVariant?
  /// Overrides what the files say.
  public var predictionType: PredictionType?
  /// How the safety checker is treated.
  public var safety: SafetyPolicy
  /// Loads one component at a time, runs guidance as two passes and the VAE in tiles.
  public var reduceMemory: Bool
  /// The arithmetic.
  public var precision: Precision
  /// Refuses a model with tensors that its networks have no place for; otherwise they are told in a warning.
  public var isStrict: Bool

  /// Makes a request.
  public init(
    path: String, projectorPath: String? = nil, variant: ModelVariant? = nil, predictionType: PredictionType? = nil,
    safety: SafetyPolicy = .ifPresent, reduceMemory: Bool = false, precision: Precision = .f32, isStrict: Bool = false
  ) {
    self.path = path
    self.projectorPath = projectorPath
    self.variant = variant
    self.predictionType = predictionType
    self.safety = safety
    self.reduceMemory = reduceMemory
    self.precision = precision
    self.isStrict = isStrict
  }
}

/// Width and height in pixels.
public struct ImageSize: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Pixels in a row.
  public var width: Int
  /// Rows.
  public var height: Int
  /// Makes a size.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }
  /// `512x768`.
  public var description: String { "\(width)x\(height)" }
}

/// A loaded model.
public struct ModelInfo: Sendable, Hashable, Codable {
  /// The id for requests.
  public var id: ModelID
  /// The family: `sd15`, `sd20`, `sdxl`, `smolvlm`, `qwen2vl`, `llama`.
  public var variant: String
  /// What this model can do.
  public var capabilities: Set<Capability>
  /// The sizes that the model was made for, the default first; empty for text models.
  public var nativeSizes: [ImageSize]
  /// Width and height of any request must be multiples of this.
  public var sizeMultiple: Int
  /// What the network predicts; nil for text models, and where the engine doesn't tell.
  public var predictionType: PredictionType?
  /// The scheduler that the model's own configuration names; a name of `genbench schedule`.
  public var defaultScheduler: String?
  /// Steps and guidance that the variant is used with.
  public var defaultSteps: Int
  /// See `defaultSteps`.
  public var defaultGuidanceScale: Double
  /// Tokens that the text model can hold, prompt and answer together; nil for image models.
  public var contextLength: Int?
  /// Weights of all components.
  public var parameterCount: Int
  /// Their bytes in the files.
  public var weightBytes: Int
  /// Nanoseconds from the request to readiness.
  public var loadNs: UInt64

  /// Makes a description.
  public init(
    id: ModelID, variant: String, capabilities: Set<Capability>, nativeSizes: [ImageSize] = [], sizeMultiple: Int = 1,
    predictionType: PredictionType? = nil, defaultScheduler: String? = nil, defaultSteps: Int = 20,
    defaultGuidanceScale: Double = 7.5,
    contextLength: Int? = nil, parameterCount: Int = 0, weightBytes: Int = 0, loadNs: UInt64 = 0
  ) {
    self.id = id
    self.variant = variant
    self.capabilities = capabilities
    self.nativeSizes = nativeSizes
    self.sizeMultiple = sizeMultiple
    self.predictionType = predictionType
    self.defaultScheduler = defaultScheduler
    self.defaultSteps = defaultSteps
    self.defaultGuidanceScale = defaultGuidanceScale
    self.contextLength = contextLength
    self.parameterCount = parameterCount
    self.weightBytes = weightBytes
    self.loadNs = loadNs
  }
}
