public import Checkpoints

/// The sizes of a vision tower and its projector.
public struct VisionConfig: Sendable, Hashable {
  /// The kinds of projectors, by their name in `clip.projector_type`.
  public enum Projector: String, Sendable, Hashable, CaseIterable {
    /// SmolVLM and Idefics3: patches joined in squares, then one matrix.
    case idefics3
    /// Qwen2-VL: patches joined in squares, then two layers.
    case qwen2VL = "qwen2vl_merger"
  }

  /// The kind of projector.
  public var projector: Projector
  /// Side of a tile in pixels; meaningless for Qwen2-VL, which takes any size.
  public var imageSize: Int
  /// Side of a patch in pixels.
  public var patchSize: Int
  /// Width of the hidden state.
  public var hiddenSize: Int
  /// Layers.
  public var layerCount: Int
  /// Heads.
  public var headCount: Int
  /// ε of the norms.
  public var layerNormEpsilon: Float
  /// Patches along a side that become one token of the language model.
  public var mergeSize: Int
  /// What is subtracted from each colour in 0...1.
  public var imageMean: [Float]
  /// What each colour is divided by then.
  public var imageStandardDeviation: [Float]
  /// SmolVLM: the longer side after the first resize, in pixels.
  public var longestEdge: Int
  /// Qwen2-VL: the fewest pixels after the resize.
  public var minPixels: Int
  /// Qwen2-VL: the most pixels after the resize.
  public var maxPixels: Int

  /// Reads the sizes from an mmproj file.
  ///
  /// - Throws: `CheckpointError` when the file is no projector of these kinds, or keys are absent or impossible.
  public init(_ file: GGUFFile) throws(CheckpointError) {
    switch ModelFileKind(file) {
    case .projector: break
    case .language(let architecture):
      throw CheckpointError(
        .invalid, file: file.location,
        "is a language model (\(architecture.rawValue)), not a projector; give it as the model (--model) and its mmproj file as "
          + "the projector (--mmproj)")
    case .other(let name):
      throw CheckpointError(
        .unsupported, file: file.location, "expected a projector (architecture clip), found architecture '\(name)'")
    }
    let clip = GGUFMetadata(file, prefix: "clip.")
    let name = try clip.string("projector_type") ?? "none"
    guard let projector = Projector(rawValue: name) else {
      throw CheckpointError(
        .unsupported, file: file.location,
        "clip.projector_type: expected \(Projector.allCases.map(\.rawValue).joined(separator: ", ")), found '\(name)'")
    }
    self.projector = projector
    let vision = GGUFMetadata(file, prefix: "clip.vision.")
    patchSize = try vision.int("patch_size", in: 1...256)
    imageSize = try vision.int("image_size", in: patchSize...8192)
    hiddenSize = try vision.int("embedding_length", in: 1...(1 << 16))
    layerCount = try vision.int("block_count", in: 1...1024)
    headCount = try vision.int("attention.head_count", in: 1...1024)
    layerNormEpsilon = Float(try vision.positive("attention.layer_norm_epsilon"))
    imageMean = try vision.colour("image_mean")
    imageStandardDeviation = try vision.colour("image_std")
    guard imageStandardDeviation.allSatisfy({ $0 > 0 }) else {
      throw vision.invalid("key 'clip.vision.image_std': expected numbers above 0, found \(imageStandardDeviation)")
    }
    let headMultiple = projector == .qwen2VL ? 4 : 1
    guard hiddenSize % headCount == 0, hiddenSize / headCount % headMultiple == 0 else {
      throw vision.invalid("a width of \(hiddenSize) can't be cut into \(headCount) heads")
    }
    mergeSize = 2
    longestEdge = 4 * imageSize
    // The limits of transformers' image processor; files hold none as a rule.
    minPixels = try vision.optionalInt("image_min_pixels", in: 1...(1 << 28)) ?? 56 * 56
    maxPixels = try vision.optionalInt("image_max_pixels", in: 1...(1 << 28)) ?? 28 * 28 * 1280
    switch projector {
    case .idefics3:
      mergeSize = try vision.int("projector.scale_factor", in: 1...64)
      longestEdge = try vision.optionalInt("preproc_image_size", in: 1...16_384) ?? longestEdge
      guard imageSize % patchSize == 0, imageSize / patchSize % mergeSize == 0 else {
        throw vision.invalid(
          "tiles of \(imageSize) pixels can't be cut into patches of \(patchSize) that are joined in squares of \(mergeSize)")
      }
    case .qwen2VL:
      mergeSize = try vision.optionalInt("spatial_merge_size", in: 1...16) ?? mergeSize
      guard minPixels <= maxPixels, maxPixels >= patchSize * patchSize * mergeSize * mergeSize else {
        throw vision.invalid("\(minPixels) to \(maxPixels) pixels: expected limits in order, with room for a patch")
      }
    }
  }
}
