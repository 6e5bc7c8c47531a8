public import Tensors

/// A prompt as the decoder takes it in: embeddings of words and of image patches, and where each stands.
public struct PreparedPrompt: Sendable {
  /// The ids, with one image token for each patch of an image.
  public var ids: [Int]
  /// `[1, T, D]`.
  public var embeddings: Tensor
  /// T positions.
  public var positions: [TokenPosition]
  /// Where the first generated token stands; after an image this isn't T.
  public var nextPosition: Int

  /// Makes a prompt.
  public init(ids: [Int], embeddings: Tensor, positions: [TokenPosition], nextPosition: Int) {
    self.ids = ids
    self.embeddings = embeddings
    self.positions = positions
    self.nextPosition = nextPosition
  }
}
