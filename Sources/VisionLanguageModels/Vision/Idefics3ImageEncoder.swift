import Checkpoints
import KernelContract
import Tensors

/// The eyes of SmolVLM and Idefics3: SigLIP on square tiles, then patches joined in squares (pixel shuffle) and one matrix.
///
/// Zhai et al. 2023, arXiv:2303.15343; Laurençon et al. 2024, arXiv:2408.12637, section 3.2. Equals transformers'
/// `Idefics3VisionTransformer` and `Idefics3Connector`.
struct Idefics3ImageEncoder: ImageEncoder {
  let config: VisionConfig
  private let patchEmbedding: Linear
  private let positionEmbedding: Tensor
  private let layers: [VisionEncoderLayer]
  private let postNorm: LayerNorm
  private let projection: Linear

  init(_ file: GGUFFile, config: VisionConfig, kernels: any KernelSet, languageWidth: Int) throws(CheckpointError) {
    self.config = config
    let weights = GGUFWeights(source: file, kernels: kernels)
    let (width, patch) = (config.hiddenSize, config.patchSize)
    let patches = config.imageSize / patch * (config.imageSize / patch)
    let embedding = try weights.view("v.patch_embd.weight", [width, 3, patch, patch])
    patchEmbedding = Linear(
      weight: kernels.prepareLinear(embedding.reinterpreted(shape: [width, 3 * patch * patch])),
      bias: try weights.tensor("v.patch_embd.bias", [width]))
    positionEmbedding = try weights.tensor("v.position_embd.weight", [patches, width]).reshaped(to: [1, patches, width])
    var layers: [VisionEncoderLayer] = []
    for index in 0..<config.layerCount {
      layers.append(try VisionEncoderLayer(weights, index: index, config: config, activation: .geluTanh))
    }
    self.layers = layers
    postNorm = try weights.layerNorm("v.post_ln", width: width, epsilon: config.layerNormEpsilon)
    projection = try weights.linear(
      "mm.model.fc", from: width * config.mergeSize * config.mergeSize, to: languageWidth, bias: false)
    try weights.requireAllUsed()
  }

  func preprocess(_ bitmap: Bitmap) throws(VisionLanguageError) -> PreprocessedImage {
    try Idefics3ImageProcessor(config).preprocess(bitmap)
  }

  func partCount(_ image: PreprocessedImage) -> Int { image.pixels.shape[0] }

  func encode(_ image: PreprocessedImage, part: Int, _ context: ExecutionContext) throws -> Tensor {
    let patches = PatchEmbedding.patches(of: image.pixels, image: part, size: config.patchSize)
    let input = patches.reshaped(to: [1, patches.shape[0], patches.shape[1]])
    var hidden = patchEmbedding(input, context, residual: positionEmbedding)
    for layer in layers { hidden = try layer(hidden, context) }
    return postNorm(hidden, context)
  }

  func project(_ hidden: Tensor, _ context: ExecutionContext) -> Tensor {
    projection(pixelShuffle(hidden), context)
  }

  /// Joins each square of patches into one token: `[1, H · W, D]` to `[H/s · W/s, s · s · D]`, row by row within the square.
  ///
  /// Shi et al. 2016, arXiv:1609.05158, eq. 4, turned round.
  private func pixelShuffle(_ hidden: Tensor) -> Tensor {
    let (square, width) = (config.mergeSize, config.hiddenSize)
    let columns = config.imageSize / config.patchSize
    let tokensInRow = columns / square
    return Tensor(shape: [tokensInRow * tokensInRow, square * square * width]) { target in
      hidden.withUnsafeBuffer { source in
        guard let to = target.baseAddress, let from = source.baseAddress else { return }
        for token in 0..<(tokensInRow * tokensInRow) {
          for line in 0..<square {
            let first = (token / tokensInRow * square + line) * columns + token % tokensInRow * square
            (to + (token * square + line) * square * width).initialize(from: from + first * width, count: square * width)
          }
        }
      }
    }
  }

  /// `<fake_token_around_image><row_1_col_1>` and so on, a line for each row of tiles, the global view last.
  func placeholder(for image: PreprocessedImage) -> String {
    let side = config.imageSize / config.patchSize / config.mergeSize
    let tokens = String(repeating: "<image>", count: side * side)
    let fake = "<fake_token_around_image>"
    var text = ""
    for row in 0..<image.rows {
      for column in 0..<image.columns { text += "\(fake)<row_\(row + 1)_col_\(column + 1)>\(tokens)" }
      text += "\n"
    }
    return text + (text.isEmpty ? "" : "\n") + "\(fake)<global-img>\(tokens)\(fake)"
  }

  func positions(of image: PreprocessedImage, from start: Int) -> (tokens: [TokenPosition], next: Int)? { nil }
}
