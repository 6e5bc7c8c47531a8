public import Tensors

/// A part of the work that is timed.
///
/// Spans may nest: a `step` holds its `unet` passes.
public struct Stage: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name in reports.
  public let rawValue: String
  /// Makes a stage; backends may have their own.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// The name in reports.
  public var description: String { rawValue }

  /// Opening the files and building the networks.
  public static let load = Stage(rawValue: "load")
  /// Predicting what the request needs, so that what doesn't fit is refused.
  public static let plan = Stage(rawValue: "plan")
  /// Prompt to token ids.
  public static let tokenize = Stage(rawValue: "tokenize")
  /// Ids to embeddings.
  public static let textEncode = Stage(rawValue: "text_encode")
  /// Drawing the initial noise.
  public static let latents = Stage(rawValue: "latents")
  /// Start image to latents.
  public static let imageEncode = Stage(rawValue: "image_encode")
  /// One entry of the scheduler's timestep list; `index` counts from 0.
  public static let step = Stage(rawValue: "step")
  /// Both guidance halves in one batch, within a step.
  public static let unet = Stage(rawValue: "unet")
  /// The unconditional half, when run apart.
  public static let unetUnconditional = Stage(rawValue: "unet_uncond")
  /// The conditional half, when run apart.
  public static let unetConditional = Stage(rawValue: "unet_cond")
  /// Guidance and the scheduler's update, within a step.
  public static let schedulerStep = Stage(rawValue: "scheduler")
  /// Latents to pixels.
  public static let vaeDecode = Stage(rawValue: "vae_decode")
  /// The safety checker.
  public static let safetyCheck = Stage(rawValue: "safety")
  /// Decoding an intermediate image.
  public static let preview = Stage(rawValue: "preview")
  /// Resizing and tiling an input image.
  public static let imagePreprocess = Stage(rawValue: "image_preprocess")
  /// The vision tower.
  public static let visionEncode = Stage(rawValue: "vision_encode")
  /// The projector from vision to language.
  public static let projector = Stage(rawValue: "projector")
  /// The prompt through the language model.
  public static let prefill = Stage(rawValue: "prefill")
  /// One token; `index` counts from 0.
  public static let decode = Stage(rawValue: "decode")
}

/// Something that happened during a request.
///
/// Times are ``MonotonicTime`` of the process that did the work.
public enum GenerationEvent: Sendable {
  /// A stage began.
  case began(Stage, index: Int?, timeNs: UInt64)
  /// A stage ended.
  case ended(Stage, index: Int?, timeNs: UInt64)
  /// A denoising step is complete: `step` counts from 1 to `total`, one event a step.
  case progress(step: Int, total: Int, timeNs: UInt64)
  /// An intermediate image after a step, checked as the final one is.
  case preview(step: Int, image: Bitmap, safety: SafetyOutcome)
  /// A token was generated; `text` holds the characters that are complete with it.
  case token(id: Int, text: String, timeNs: UInt64)
  /// Something a user should know: tokens cut off, a setting without effect.
  case warning(String)
}
