import Checkpoints
import KernelContract
import Tensors

/// The eyes of Qwen2-VL: a tower with rotary positions in two dimensions on an image of any size, then a merger.
///
/// Wang et al. 2024, arXiv:2409.12191, section 2.1; equals transformers' `Qwen2VisionTransformerPretrainedModel`. The two
/// temporal frames of a still image are equal, so that the two halves of the patch embedding are added once and for all.
struct Qwen2VLImageEncoder: ImageEncoder {
  let config: VisionConfig
  private let patchEmbedding: Linear
  private let rotary: RotaryEmbedding
  private let layers: [VisionEncoderLayer]
  private let mergerNorm: LayerNorm
  private let mergerExpand: Linear
  private let mergerContract: Linear

  init(_ file: GGUFFile, config: VisionConfig, kernels: any KernelSet, languageWidth: Int) throws(CheckpointError) {
    self.config = config
    let weights = GGUFWeights(source: file, kernels: kernels)
    let (width, patch) = (config.hiddenSize, config.patchSize)
    let first = try weights.tensor("v.patch_embd.weight", [width, 3, patch, patch])
    let second = try weights.tensor("v.patch_embd.weight.1", [width, 3, patch, patch])
    let both = kernels.add(first, second).reshaped(to: [width, 3 * patch * patch])
    patchEmbedding = Linear(weight: kernels.prepareLinear(WeightView(name: "v.patch_embd.weight", tensor: both)), bias: nil)
    rotary = RotaryEmbedding(imageHeadWidth: width / config.headCount, base: 10_000)
    let clip = GGUFMetadata(file, prefix: "clip.")
    let activation: Activation = try clip.bool("use_gelu") ? .geluTanh : try clip.bool("use_silu") ? .silu : .quickGelu
    var layers: [VisionEncoderLayer] = []
    for index in 0..<config.layerCount {
      layers.append(try VisionEncoderLayer(weights, index: index, config: config, activation: activation))
    }
    self.layers = layers
    let merged = width * config.mergeSize * config.mergeSize
    mergerNorm = try weights.layerNorm("v.post_ln", width: width, epsilon: config.layerNormEpsilon)
    mergerExpand = try weights.linear("mm.0", from: merged, to: merged, bias: true)
    mergerContract = try weights.linear("mm.2", from: merged, to: languageWidth, bias: true)
    try weights.requireAllUsed()
  }

  func preprocess(_ bitmap: Bitmap) throws(VisionLanguageError) -> PreprocessedImage {
    try Qwen2VLImageProcessor(config).preprocess(bitmap)
  }

  func partCount(_ image: PreprocessedImage) -> Int { 1 }

  func encode(_ image: PreprocessedImage, part: Int, _ context: ExecutionContext) throws -> Tensor {
    let patches = image.pixels.shape[0]
    let input = image.pixels.reshaped(to: [1, patches, image.pixels.count / patches])
    let angles = rotary.angles(patchPositions(rows: image.rows, columns: image.columns))
    var hidden = patchEmbedding(input, context)
    for layer in layers { hidden = try layer(hidden, context) { rotary.apply(angles, to: &$0) } }
    return hidden
  }

  /// The rows and columns of patches in the order of the merger: square by square, row by row within a square.
  private func patchPositions(rows: Int, columns: Int) -> [TokenPosition] {
    let square = config.mergeSize
    var positions: [TokenPosition] = []
    positions.reserveCapacity(rows * columns)
    for top in stride(from: 0, to: rows, by: square) {
      for left in stride(from: 0, to: columns, by: square) {
        for row in top..<(top + square) {
          for column in left..<(left + square) { positions.append(TokenPosition(time: 0, row: row, column: column)) }
        }
      }
    }
    return positions
  }

  func project(_ hidden: Tensor, _ context: ExecutionContext) -> Tensor {
    let square = config.mergeSize * config.mergeSize
    let normed = mergerNorm(hidden, context)
    let merged = normed.reshaped(to: [normed.count / (square * config.hiddenSize), square * config.hiddenSize])
    return mergerContract(mergerExpand(merged, context, activation: .gelu), context)
  }

  /// The pads that stand for the image, between the marks of its beginning and end.
  func placeholder(for image: PreprocessedImage) -> String {
    let tokens = image.rows * image.columns / (config.mergeSize * config.mergeSize)
    return "<|vision_start|>" + String(repeating: "<|image_pad|>", count: tokens) + "<|vision_end|>"
  }

  func positions(of image: PreprocessedImage, from start: Int) -> (tokens: [TokenPosition], next: Int)? {
    let (rows, columns) = (image.rows / config.mergeSize, image.columns / config.mergeSize)
    let tokens = (0..<(rows * columns)).map { index in
      TokenPosition(time: start, row: start + index / columns, column: start + index % columns)
    }
    return (tokens, start + max(rows, columns))
  }
}
