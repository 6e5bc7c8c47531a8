public import Foundation

/// What the safety checker said of an image.
public enum DiffusionSafety: String, Sendable, Hashable, Codable, CaseIterable {
  /// Checked and passed.
  case passed
  /// Flagged; there are no pixels.
  case filtered
  /// Not checked, because the checker is off.
  case unchecked
}

/// One image of a result.
public struct DiffusionImage: Sendable, Hashable {
  /// The bytes of a file of `DiffusionResult.mediaType`; nil when it was filtered.
  public let data: Data?
  /// What the safety checker said.
  public let safety: DiffusionSafety
  /// The seed that makes this image again, alone.
  public let seedUsed: Int64

  /// Makes an image.
  public init(data: Data?, safety: DiffusionSafety, seedUsed: Int64) {
    self.data = data
    self.safety = safety
    self.seedUsed = seedUsed
  }
}

/// The images of one call, with the settings that were really used.
public struct DiffusionResult: Sendable, Hashable {
  /// All images, in the order of their seeds; a filtered one keeps its place.
  public let images: [DiffusionImage]
  /// Pixels in a row.
  public let width: UInt32
  /// Rows.
  public let height: UInt32
  /// From the call to its return, in milliseconds, begun ones counted whole: text, denoising, decoding, checking, encoding.
  public let generationTimeMs: UInt64
  /// The kind of the bytes.
  public let mediaType: String
  /// The sampler that was used.
  public let scheduler: String
  /// The steps that were run: fewer than asked for in image-to-image.
  public let stepsRun: Int
  /// The guidance scale that was used.
  public let guidanceScale: Double
  /// What a user should know: words of the prompt that were cut off.
  public let warnings: [String]

  /// Makes a result.
  public init(
    images: [DiffusionImage], width: UInt32, height: UInt32, generationTimeMs: UInt64, mediaType: String = "image/png",
    scheduler: String, stepsRun: Int, guidanceScale: Double, warnings: [String] = []
  ) {
    self.images = images
    self.width = width
    self.height = height
    self.generationTimeMs = generationTimeMs
    self.mediaType = mediaType
    self.scheduler = scheduler
    self.stepsRun = stepsRun
    self.guidanceScale = guidanceScale
    self.warnings = warnings
  }

  /// The bytes of the first image, a PNG file; empty when it was filtered.
  public var imageData: Data { images.first?.data ?? Data() }
  /// What the safety checker said of the first image.
  public var safety: DiffusionSafety { images.first?.safety ?? .unchecked }
  /// The seed of the first image.
  public var seedUsed: Int64 { images.first?.seedUsed ?? 0 }
}
