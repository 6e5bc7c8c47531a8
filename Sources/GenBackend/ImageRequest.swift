public import Tensors

/// An image to make.
///
/// Every absent option means the model's own default.
public struct ImageRequest: Sendable {
  /// What is done with a prompt that has more tokens than the encoder's window.
  public enum LongPrompt: String, Sendable, Hashable, Codable, CaseIterable {
    /// Refused with `invalidInput`.
    case error
    /// Cut, keeping the end mark, with a warning that says how many tokens were dropped.
    case truncate
    /// Encoded in windows of 75 tokens that are joined along the sequence.
    case chunk
  }

  /// How much of the inside is returned.
  public enum TraceLevel: String, Sendable, Hashable, Codable, CaseIterable {
    case none
    /// Embeddings, timesteps, latents and predictions of every step, the image.
    case step
    /// Also the output of each block of the networks.
    case block
  }

  /// The loaded model.
  public var model: ModelID
  /// What to show.
  public var prompt: String
  /// What to avoid; nil is diffusers' `None`, which isn't the same as `""` for Stable Diffusion XL.
  public var negativePrompt: String?
  /// Size in pixels; nil is the model's first native size.
  public var size: ImageSize?
  /// Denoising steps, at least 1.
  public var steps: Int?
  /// Weight of the prompt; guidance is off at 1 and below.
  public var guidanceScale: Double?
  /// How far guided predictions are brought back to the conditional spread, 0...1.
  ///
  /// The φ of Lin et al. 2023, arXiv:2305.08891, section 3.4; diffusers' `guidance_rescale`.
  public var guidanceRescale: Double
  /// Scheduler name with an optional suffix, a diffusers class or an A1111 label.
  public var scheduler: String?
  /// `leading`, `trailing`, `linspace`; nil is what the model's configuration says.
  public var timestepSpacing: String?
  /// η of DDIM and TCD.
  public var eta: Double?
  /// Seed of the noise; nil draws one, which the result tells.
  public var seed: UInt64?
  /// The generator: `torch`, `numpy`, `philox`.
  public var randomSource: String
  /// Unit-normal initial noise `[1, 4, h, w]` in place of the seed's.
  public var latents: Tensor?
  /// Start image of image-to-image and inpainting, values 0...1, `[1, 3, H, W]`.
  public var image: Tensor?
  /// How much of the start image is replaced, 0...1.
  public var strength: Double
  /// Where to repaint: `[1, 1, H, W]`, 1 (white) is repainted, 0 (black) kept.
  public var mask: Tensor?
  /// Images to make, each from its own seed (`seed + index`).
  public var imageCount: Int
  /// Whether the loaded safety checker is run.
  public var checksSafety: Bool
  /// Every how many steps a preview is decoded; nil for none.
  public var previewStride: Int?
  /// What of the inside is returned.
  public var traceLevel: TraceLevel
  /// What is done with a prompt that is too long.
  public var longPrompt: LongPrompt
  /// Layers to skip at the end of the text encoder, as diffusers' `clip_skip`.
  public var clipSkip: Int?

  /// Makes a request with the model's defaults.
  public init(model: ModelID, prompt: String) {
    self.model = model
    self.prompt = prompt
    guidanceRescale = 0
    randomSource = "torch"
    strength = 0.8
    imageCount = 1
    checksSafety = true
    traceLevel = .none
    longPrompt = .truncate
  }
}

/// What the safety checker said of an image.
public enum SafetyOutcome: String, Sendable, Hashable, Codable {
  /// Checked and passed.
  case passed
  /// Flagged; the pixels are withheld (black).
  case filtered
  /// Not checked: no checker, or it was turned off.
  case unchecked
}

/// The images of one request.
public struct ImageResult: Sendable {
  /// One image.
  public struct Image: Sendable {
    /// The pixels, RGB; black when filtered.
    public var bitmap: Bitmap
    /// What the safety checker said.
    public var safety: SafetyOutcome
    /// The seed that makes this image again, alone.
    public var seed: UInt64

    /// Makes an image.
    public init(bitmap: Bitmap, safety: SafetyOutcome, seed: UInt64) {
      self.bitmap = bitmap
      self.safety = safety
      self.seed = seed
    }
  }

  /// The images, in order.
  public var images: [Image]
  /// The scheduler that was used.
  public var scheduler: String
  /// The denoising steps that were run (fewer than asked for in image-to-image).
  public var steps: Int
  /// The guidance scale that was used.
  public var guidanceScale: Double
  /// Prompt tokens cut off, if any.
  public var droppedTokens: Int
  /// The trace, when one was asked for; see docs/formats.md for its names.
  public var trace: [String: Tensor]

  /// Makes a result.
  public init(
    images: [Image], scheduler: String, steps: Int, guidanceScale: Double, droppedTokens: Int = 0, trace: [String: Tensor] = [:]
  ) {
    self.images = images
    self.scheduler = scheduler
    self.steps = steps
    self.guidanceScale = guidanceScale
    self.droppedTokens = droppedTokens
    self.trace = trace
  }
}
