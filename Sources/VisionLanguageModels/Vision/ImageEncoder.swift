public import Checkpoints
public import KernelContract
public import Tensors

/// An image made ready for a vision tower.
public struct PreprocessedImage: Sendable {
  /// The tiles of SmolVLM, `[tiles, 3, side, side]`, or the patches of Qwen2-VL, `[patches, 3, side, side]`.
  public var pixels: Tensor
  /// Rows of tiles, or of patches.
  public var rows: Int
  /// Columns of tiles, or of patches.
  public var columns: Int

  /// Makes an image.
  public init(pixels: Tensor, rows: Int, columns: Int) {
    self.pixels = pixels
    self.rows = rows
    self.columns = columns
  }
}

/// The eyes of a language model: image to patches, patches to features, features to embeddings of words.
public protocol ImageEncoder: Sendable {
  /// The sizes.
  var config: VisionConfig { get }

  /// Resizes, cuts and normalises an image, as transformers' PIL image processor does.
  ///
  /// - Throws: ``VisionLanguageError`` for an image that the model can't take.
  func preprocess(_ bitmap: Bitmap) throws(VisionLanguageError) -> PreprocessedImage

  /// The vision tower's last hidden state of one part of an image.
  ///
  /// - Parameter part: Counts from 0 to ``partCount(_:)``.
  /// - Returns: `[1, patches, hiddenSize]`.
  /// - Throws: `CancelledError`.
  func encode(_ image: PreprocessedImage, part: Int, _ context: ExecutionContext) throws -> Tensor

  /// Parts that are encoded one by one, so that memory doesn't grow with the image.
  func partCount(_ image: PreprocessedImage) -> Int

  /// The projector: the vision tower's output as embeddings of the language model, `[tokens, D]`.
  func project(_ hidden: Tensor, _ context: ExecutionContext) -> Tensor

  /// The text that stands for the image in the prompt.
  func placeholder(for image: PreprocessedImage) -> String

  /// Where an image's tokens stand when the first of them is the `start`-th of the prompt, and where the text goes on.
  ///
  /// - Returns: nil when image tokens are counted like words.
  func positions(of image: PreprocessedImage, from start: Int) -> (tokens: [TokenPosition], next: Int)?
}

extension ImageEncoder {
  /// The embeddings of a whole image, `[tokens, D]`.
  ///
  /// - Throws: `CancelledError`.
  public func features(of image: PreprocessedImage, _ context: ExecutionContext) throws -> Tensor {
    Tensor.concatenated(try (0..<partCount(image)).map { project(try encode(image, part: $0, context), context) })
  }
}

extension VisionConfig {
  /// Builds the network of an mmproj file.
  ///
  /// - Parameter languageWidth: Width of the language model's hidden state, which the projector must produce.
  /// - Throws: `CheckpointError` when a weight is absent or of another shape.
  public func makeEncoder(_ file: GGUFFile, kernels: any KernelSet, languageWidth: Int) throws(CheckpointError)
    -> any ImageEncoder
  {
    switch projector {
    case .idefics3: try Idefics3ImageEncoder(file, config: self, kernels: kernels, languageWidth: languageWidth)
    case .qwen2VL: try Qwen2VLImageEncoder(file, config: self, kernels: kernels, languageWidth: languageWidth)
    }
  }
}
