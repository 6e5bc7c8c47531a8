/// The families of Stable Diffusion models.
public enum DiffusionVariant: String, Sendable, Hashable, Codable, CaseIterable {
  /// Stable Diffusion 1.x: one CLIP-L text encoder.
  case sd15
  /// Stable Diffusion 2.x: one OpenCLIP-H text encoder, 23 layers.
  case sd20
  /// Stable Diffusion XL base: CLIP-L beside OpenCLIP-bigG, sizes as added conditions.
  case sdxl
}

/// Where a text encoder's tokenizer comes from, and how it pads.
public struct CLIPTokenizerLocation: Sendable, Hashable {
  /// The files.
  public enum Files: Sendable, Hashable {
    /// `vocab.json` and `merges.txt`.
    case vocabAndMerges(vocab: String, merges: String)
    /// `tokenizer.json`.
    case tokenizerJSON(String)
    /// None: single-file checkpoints rely on the one vocabulary that all CLIP text encoders share.
    case standard
  }

  /// The files.
  public var files: Files
  /// The token that fills a prompt up to 77: `<|endoftext|>`, or `!` for SD2 and XL's second encoder.
  public var padToken: String

  /// CLIP's end token, which OpenAI's encoder also pads with.
  public static let endOfText = "<|endoftext|>"

  /// Makes a location.
  public init(files: Files, padToken: String) {
    self.files = files
    self.padToken = padToken
  }
}

/// A text encoder of a checkpoint.
public struct TextEncoderCheckpoint: Sendable {
  /// Sizes.
  public var config: CLIPTextModelConfig
  /// Weights under canonical names (``WeightKey``).
  public var weights: any WeightSource
  /// The tokenizer that belongs to it.
  public var tokenizer: CLIPTokenizerLocation
}

/// A safety checker of a checkpoint.
public struct SafetyCheckerCheckpoint: Sendable {
  /// Sizes.
  public var config: StableDiffusionSafetyCheckerConfig
  /// Weights under canonical names (``WeightKey``).
  public var weights: any WeightSource
  /// How its input is prepared.
  public var imageProcessor: CLIPImageProcessorConfig
}

/// A Stable Diffusion model read from files of any known layout: configurations, weights under canonical names, tokenizers.
///
/// Nothing is loaded into memory: weights stay mapped in their files.
public struct DiffusionCheckpoint: Sendable {
  /// The layouts.
  public enum Format: String, Sendable, Hashable, Codable {
    /// A diffusers folder.
    case diffusers
    /// A single-file CompVis or SGM checkpoint in safetensors.
    case ldm
    /// A GGUF file of stable-diffusion.cpp.
    case gguf
  }

  /// What the caller knows better than the files.
  public struct Overrides: Sendable, Hashable {
    /// The family.
    public var variant: DiffusionVariant?
    /// What the network predicts: needed for SD2 single files, which don't say.
    public var predictionType: PredictionType?
    /// Whether a safety checker is opened when there is one.
    public var opensSafetyChecker: Bool

    /// Makes overrides; by default there are none.
    public init(variant: DiffusionVariant? = nil, predictionType: PredictionType? = nil, opensSafetyChecker: Bool = true) {
      self.variant = variant
      self.predictionType = predictionType
      self.opensSafetyChecker = opensSafetyChecker
    }
  }

  /// The path it was opened from.
  public var location: String
  /// The layout.
  public var format: Format
  /// The family.
  public var variant: DiffusionVariant
  /// What the network predicts.
  public var predictionType: PredictionType
  /// The denoising network's sizes.
  public var unetConfig: UNet2DConditionModelConfig
  /// The denoising network's weights under canonical names (``WeightKey``).
  public var unet: any WeightSource
  /// The autoencoder's sizes.
  public var vaeConfig: AutoencoderKLConfig
  /// The autoencoder's weights under canonical names (``WeightKey``).
  public var vae: any WeightSource
  /// The text encoder.
  public var textEncoder: TextEncoderCheckpoint
  /// XL's second text encoder.
  public var textEncoder2: TextEncoderCheckpoint?
  /// The safety checker; nil when the model has none, which is "unchecked", not "safe".
  public var safetyChecker: SafetyCheckerCheckpoint?
  /// The scheduler that the model was published with.
  public var scheduler: SchedulerConfig
  /// Whether an absent negative prompt stands for zeros (XL) rather than for the encoded empty string.
  public var forceZerosForEmptyPrompt: Bool

  /// Side of the images that the model was made for, in pixels.
  public var nativeSize: Int {
    if let sampleSize = unetConfig.sampleSize { return sampleSize * vaeConfig.scaleFactor }
    switch (variant, predictionType) {
    case (.sdxl, _): return 1024
    case (.sd20, .vPrediction): return 768
    default: return 512
    }
  }
}

extension DiffusionCheckpoint {
  /// Checks what the parts have to agree on.
  func validated() throws(CheckpointError) -> DiffusionCheckpoint {
    func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: location, message) }
    let latent = vaeConfig.latentChannels
    guard unetConfig.inChannels == latent else {
      let kind = unetConfig.inChannels == 2 * latent + 1 ? " (an inpainting model)" : ""
      throw CheckpointError(
        .unsupported, file: location,
        "UNet: expected \(latent) input channels, as the VAE's latents have, found \(unetConfig.inChannels)\(kind); use the "
          + "text-to-image model of this family, which inpaints with a mask too")
    }
    guard unetConfig.outChannels == latent else {
      throw invalid("UNet: expected \(latent) output channels, as the VAE's latents have, found \(unetConfig.outChannels)")
    }
    let isXL = variant == .sdxl
    guard isXL == (textEncoder2 != nil), isXL == (unetConfig.additionEmbedType == .textTime) else {
      throw invalid(
        "variant \(variant.rawValue): the text encoders or the UNet's added conditions don't fit it; leave --variant out to have it"
          + " read from the files")
    }
    let features = textEncoder.config.hiddenSize + (textEncoder2?.config.hiddenSize ?? 0)
    guard features == unetConfig.crossAttentionDim else {
      throw invalid(
        "UNet: cross_attention_dim is \(unetConfig.crossAttentionDim), but the text encoder gives \(features) features; the parts "
          + "don't belong together")
    }
    if let second = textEncoder2, let timeDim = unetConfig.additionTimeEmbedDim {
      guard second.config.hasProjection else { throw invalid("text_encoder_2: expected a CLIPTextModelWithProjection") }
      let expected = second.config.projectionDim + 6 * timeDim
      guard unetConfig.projectionClassEmbeddingsInputDim == expected else {
        throw invalid(
          "UNet: projection_class_embeddings_input_dim is \(unetConfig.projectionClassEmbeddingsInputDim ?? 0), expected "
            + "\(expected): the pooled features of text_encoder_2 and six sinusoids")
      }
    }
    return self
  }
}
