public import Foundation

/// The values that checks speak in: the shape of the documented diffusion API, with no SDK's own types.
///
/// An optional that is nil means that the caller sets nothing (in options) or that the implementation doesn't tell (in
/// results).
public enum DiffusionSurface: APISurface {
  /// Which API it is.
  public static let kind = SurfaceKind.diffusion
  /// Its place in ``AnySubject``.
  public static var slot: any WritableKeyPath<AnySubject, Subject<DiffusionSurface>?> & Sendable { \.diffusion }

  /// Families of models.
  public enum Variant: String, Sendable, Hashable, Codable, CaseIterable {
    case sd15, sd20, sdxl
  }

  /// What an implementation may be able to do beyond the documented minimum; a check that needs more is skipped.
  public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    /// Seeds can be given and are told.
    case seed
    /// Negative prompts.
    case negativePrompt
    /// The sampler can be chosen and is told.
    case scheduler
    /// Image-to-image.
    case imageToImage
    /// Inpainting.
    case inpainting
    /// Intermediate images.
    case previews
    /// Several images of one call.
    case batch
    /// A safety checker whose outcome is told.
    case safety
    /// A model can be unloaded.
    case unload
    /// A progress stream beside the handler.
    case stream
    /// Variants with defaults of their own: turbo, LCM.
    case distilledVariants
    /// Results tell the settings that were used.
    case effectiveSettings
    /// A category beside each error code.
    case errorCategory
  }

  /// How a model is loaded.
  public struct Configuration: Sendable, Hashable {
    /// The family.
    public var variant: Variant
    /// Whether images are checked.
    public var checksSafety: Bool
    /// Whether less memory is to be used.
    public var reducesMemory: Bool
    /// Makes a configuration.
    public init(variant: Variant = .sd15, checksSafety: Bool = true, reducesMemory: Bool = false) {
      self.variant = variant
      self.checksSafety = checksSafety
      self.reducesMemory = reducesMemory
    }
  }

  /// What an image is made from.
  public enum Mode: String, Sendable, Hashable { case textToImage, imageToImage, inpainting }

  /// What to make and how.
  public struct Options: Sendable, Hashable {
    /// What to show.
    public var prompt: String
    /// Pixels in a row.
    public var width: Int?
    /// Rows.
    public var height: Int?
    /// Denoising steps.
    public var steps: Int?
    /// Weight of the prompt.
    public var guidanceScale: Double?
    /// What to avoid.
    public var negativePrompt: String?
    /// Seed; -1 is a random one.
    public var seed: Int64?
    /// The sampler, by genbench's name.
    public var scheduler: String?
    /// What the image is made from.
    public var mode = Mode.textToImage
    /// PNG of the start image.
    public var image: Data?
    /// PNG of the mask: white is repainted.
    public var mask: Data?
    /// How much of the start image is replaced.
    public var strength: Double?
    /// Every how many steps a preview is wanted.
    public var previewStride: Int?
    /// Images to make.
    public var imageCount: Int?
    /// Makes options that set nothing but the prompt.
    public init(prompt: String) { self.prompt = prompt }
  }

  /// One call of the progress handler.
  public struct Update: Sendable, Hashable {
    /// 0...1.
    public var progress: Double
    /// As the implementation counts.
    public var step: Int
    /// The steps in all.
    public var total: Int
    /// An intermediate image.
    public var preview: Data?
    /// Makes an update.
    public init(progress: Double, step: Int, total: Int, preview: Data? = nil) {
      self.progress = progress
      self.step = step
      self.total = total
      self.preview = preview
    }
  }

  /// What the checker said.
  public enum Safety: String, Sendable, Hashable { case passed, filtered, unchecked }

  /// One image of a result.
  public struct Image: Sendable, Hashable {
    /// The bytes; nil or empty when it was withheld.
    public var data: Data?
    /// What the checker said; nil when the implementation doesn't tell.
    public var safety: Safety?
    /// The seed that was used.
    public var seed: Int64?
    /// Makes an image.
    public init(data: Data?, safety: Safety? = nil, seed: Int64? = nil) {
      self.data = data
      self.safety = safety
      self.seed = seed
    }
  }

  /// What a call returned.
  public struct Result: Sendable, Hashable {
    /// The images, in order.
    public var images: [Image]
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The documented `generationTimeMs`.
    public var milliseconds: UInt64
    /// The kind of the bytes.
    public var mediaType: String?
    /// The sampler that was used.
    public var scheduler: String?
    /// The steps that were run.
    public var steps: Int?
    /// The guidance scale that was used.
    public var guidanceScale: Double?
    /// What the caller should know.
    public var warnings: [String] = []
    /// Makes a result.
    public init(images: [Image], width: Int, height: Int, milliseconds: UInt64) {
      self.images = images
      self.width = width
      self.height = height
      self.milliseconds = milliseconds
    }
    /// The bytes of the first image.
    public var data: Data { images.first?.data ?? Data() }
    /// What the checker said of the first image.
    public var safety: Safety? { images.first?.safety }
    /// The seed of the first image.
    public var seed: Int64? { images.first?.seed }
  }

  /// An event of a progress stream.
  public enum Event: Sendable, Hashable {
    case started
    case progress(Update)
    case completed(Result)
  }
}
