public import Foundation

/// What an image is made from.
public enum DiffusionMode: String, Sendable, Hashable, Codable, CaseIterable {
  /// A prompt alone.
  case textToImage
  /// A prompt and an image to start from.
  case imageToImage
  /// A prompt, an image, and a mask that says where to repaint it.
  case inpainting
}

/// What to make and how.
///
/// Values out of range are refused with `invalidInput`, never changed to the nearest legal one.
public struct DiffusionGenerationOptions: Sendable, Hashable {
  /// The steps that are taken.
  public static let stepsRange = 10...50
  /// The guidance scales that are taken.
  public static let guidanceScaleRange = 1.0...20.0
  /// The numbers of images that are taken.
  public static let imageCountRange = 1...8
  /// The largest seed.
  public static let largestSeed = Int64(UInt32.max)

  /// What to show; must equal the `prompt` argument of the call.
  public let prompt: String
  /// Pixels in a row; must be a size of the loaded model.
  public let width: UInt32
  /// Rows.
  public let height: UInt32
  /// Denoising steps, 10...50.
  public let steps: Int
  /// Weight of the prompt, 1...20; 1 is none.
  public let guidanceScale: Double
  /// What to avoid.
  public let negativePrompt: String?
  /// Seed of the noise, 0...4294967295; nil or -1 draws one, which the result tells.
  public let seed: Int64?
  /// The sampler; nil is the model's own.
  public let scheduler: DiffusionScheduler?
  /// What the image is made from.
  public let mode: DiffusionMode
  /// A PNG or JPEG to start from; resized to the requested size when it has another.
  public let inputImage: Data?
  /// A PNG or JPEG of the input image's size: white is repainted, black kept.
  public let maskImage: Data?
  /// How much of the input image is replaced: above 0, at most 1; 1 leaves nothing of it.
  public let strength: Double
  /// Every how many steps the progress carries a preview; nil for none, which costs nothing.
  public let previewStride: Int?
  /// Images to make, 1...8, the seeds counting up.
  public let imageCount: Int

  /// Makes options.
  public init(
    prompt: String, width: UInt32 = 512, height: UInt32 = 512, steps: Int = 20, guidanceScale: Double = 7.5,
    negativePrompt: String? = nil, seed: Int64? = nil, scheduler: DiffusionScheduler? = nil, mode: DiffusionMode = .textToImage,
    inputImage: Data? = nil, maskImage: Data? = nil, strength: Double = 0.75, previewStride: Int? = nil, imageCount: Int = 1
  ) {
    self.prompt = prompt
    self.width = width
    self.height = height
    self.steps = steps
    self.guidanceScale = guidanceScale
    self.negativePrompt = negativePrompt
    self.seed = seed
    self.scheduler = scheduler
    self.mode = mode
    self.inputImage = inputImage
    self.maskImage = maskImage
    self.strength = strength
    self.previewStride = previewStride
    self.imageCount = imageCount
  }
}
