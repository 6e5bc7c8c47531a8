public import Checkpoints
public import KernelContract
public import Tensors

/// Flags images whose CLIP embedding is near one of 17 concepts; equals diffusers' `StableDiffusionSafetyChecker`.
public struct StableDiffusionSafetyChecker: Sendable {
  /// The scores of one image, rounded to three places; a score above 0 counts.
  public struct Scores: Sendable, Hashable {
    /// Of the special-care concepts.
    public var special: [Float]
    /// Of the concepts that flag an image.
    public var concept: [Float]
    /// Whether the image must not be shown.
    public var isFlagged: Bool { concept.contains { $0 > 0 } }
  }

  private let visionModel: CLIPVisionModel
  private let visualProjection: Linear
  private let conceptEmbeds: Tensor
  private let conceptThresholds: Tensor
  private let specialCareEmbeds: Tensor
  private let specialCareThresholds: Tensor

  /// The side of the square images that it looks at, in pixels.
  public var imageSize: Int { visionModel.config.imageSize }

  /// Builds the checker.
  ///
  /// - Throws: `CheckpointError` when a parameter is absent or of another shape.
  public init(config: StableDiffusionSafetyCheckerConfig, loader: ParameterLoader) throws(CheckpointError) {
    visionModel = try CLIPVisionModel(config: config.visionConfig, loader: loader["vision_model.vision_model"])
    visualProjection = try Linear(
      loader["visual_projection"], inFeatures: config.visionConfig.hiddenSize, outFeatures: config.projectionDim, hasBias: false)
    conceptEmbeds = try loader.tensor("concept_embeds", [17, config.projectionDim])
    conceptThresholds = try loader.tensor("concept_embeds_weights", [17])
    specialCareEmbeds = try loader.tensor("special_care_embeds", [3, config.projectionDim])
    specialCareThresholds = try loader.tensor("special_care_embeds_weights", [3])
  }

  /// Scores preprocessed images.
  ///
  /// - Parameter pixels: `[N, 3, imageSize, imageSize]`, see ``CLIPImageProcessor``.
  /// - Throws: `CancelledError`.
  public func callAsFunction(_ pixels: Tensor, _ context: ExecutionContext) throws -> [Scores] {
    let embeds = visualProjection(try visionModel(pixels, context), context)
    let special = cosines(embeds, specialCareEmbeds)
    let concept = cosines(embeds, conceptEmbeds)
    return (0..<embeds.shape[0]).map { image in
      var adjustment: Float = 0
      let specialScores = special[image].indices.map { index in
        let score = rounded(special[image][index] - specialCareThresholds[flat: index] + adjustment)
        // Set, not added: it also raises the scores of the special concepts that follow.
        if score > 0 { adjustment = 0.01 }
        return score
      }
      let conceptScores = concept[image].indices.map { index in
        rounded(concept[image][index] - conceptThresholds[flat: index] + adjustment)
      }
      return Scores(special: specialScores, concept: conceptScores)
    }
  }

  /// NumPy's `round(x, 3)` of a single-precision value: scaled, rounded half to even, scaled back, all in `Float`.
  private func rounded(_ value: Float) -> Float { (value * 1000).rounded(.toNearestOrEven) / 1000 }

  /// Cosine similarities of the rows of two matrices.
  private func cosines(_ left: Tensor, _ right: Tensor) -> [[Float]] {
    let width = left.shape[1]
    return left.withUnsafeBuffer { leftRows in
      right.withUnsafeBuffer { rightRows in
        (0..<left.shape[0]).map { row in
          (0..<right.shape[0]).map { other in
            var dot = 0.0
            var leftSquares = 0.0
            var rightSquares = 0.0
            for column in 0..<width {
              let a = Double(leftRows[row * width + column])
              let b = Double(rightRows[other * width + column])
              dot += a * b
              leftSquares += a * a
              rightSquares += b * b
            }
            // torch.nn.functional.normalize divides by at least 1e-12.
            return Float(dot / (max(leftSquares.squareRoot(), 1e-12) * max(rightSquares.squareRoot(), 1e-12)))
          }
        }
      }
    }
  }
}
