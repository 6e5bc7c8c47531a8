/// How the safety checker's input is prepared: `feature_extractor/preprocessor_config.json`.
///
/// Source: huggingface/transformers `models/clip/image_processing_clip.py`.
public struct CLIPImageProcessorConfig: Sendable, Hashable {
  /// Whether the image is resized so that its shorter edge is `shortestEdge`.
  public var doResize: Bool
  /// The shorter edge after resizing, in pixels.
  public var shortestEdge: Int
  /// PIL's number of the filter; only 3, bicubic, is known.
  public var resample: Int
  /// Whether the middle is cut out.
  public var doCenterCrop: Bool
  /// Height of the cut, in pixels.
  public var cropHeight: Int
  /// Width of the cut, in pixels.
  public var cropWidth: Int
  /// What pixel values of 0...255 are multiplied with.
  public var rescaleFactor: Double
  /// Whether mean and deviation are applied.
  public var doNormalize: Bool
  /// Mean of each channel.
  public var imageMean: [Double]
  /// Standard deviation of each channel.
  public var imageStd: [Double]

  /// The class's defaults, which are also those of every Stable Diffusion folder.
  public static let standard = CLIPImageProcessorConfig()

  private init() {
    doResize = true
    shortestEdge = 224
    resample = 3
    doCenterCrop = true
    cropHeight = 224
    cropWidth = 224
    rescaleFactor = 1.0 / 255
    doNormalize = true
    imageMean = [0.48145466, 0.4578275, 0.40821073]
    imageStd = [0.26862954, 0.26130258, 0.27577711]
  }

  /// Reads a `preprocessor_config.json`; `size` and `crop_size` may be numbers, as old files have them, or objects.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` or `.unsupported`.
  public init(json: JSONValue, file: String) throws(CheckpointError) {
    self.init()
    let reader = try ConfigReader(json, file: file)
    try reader.require("do_rescale", isOneOf: [true])
    try reader.require("resample", isOneOf: [3])
    doResize = try reader.bool("do_resize", default: doResize)
    doCenterCrop = try reader.bool("do_center_crop", default: doCenterCrop)
    rescaleFactor = try reader.double("rescale_factor", default: rescaleFactor)
    doNormalize = try reader.bool("do_normalize", default: doNormalize)
    imageMean = try reader.doubles("image_mean", default: imageMean)
    imageStd = try reader.doubles("image_std", default: imageStd)
    guard imageMean.count == 3, imageStd.count == 3, imageStd.allSatisfy({ $0 > 0 }) else {
      throw reader.invalid("image_std", expected: "three positive numbers, and three of image_mean")
    }
    if let size = reader.value("size") {
      guard let edge = size.int ?? size["shortest_edge"]?.int, (1...1 << 14).contains(edge) else {
        throw reader.unsupported("size", supported: "a number of pixels or {\"shortest_edge\": pixels}")
      }
      shortestEdge = edge
    }
    if let crop = reader.value("crop_size") {
      guard let height = crop.int ?? crop["height"]?.int, let width = crop.int ?? crop["width"]?.int,
        (1...1 << 14).contains(height), (1...1 << 14).contains(width)
      else { throw reader.invalid("crop_size", expected: "a number of pixels or {\"height\": pixels, \"width\": pixels}") }
      cropHeight = height
      cropWidth = width
    }
  }
}
