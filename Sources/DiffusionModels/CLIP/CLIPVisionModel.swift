public import Checkpoints
public import KernelContract
public import Tensors

/// The image tower of CLIP; equals transformers' `CLIPVisionModel`.
public struct CLIPVisionModel: Sendable {
  /// The configuration that the network was built from.
  public let config: CLIPVisionModelConfig
  private let classEmbedding: Tensor
  private let patchEmbedding: Conv2d
  private let positionEmbedding: Tensor
  private let preNorm: LayerNorm
  private let layers: [CLIPEncoderLayer]
  private let postNorm: LayerNorm

  /// Builds the network from the level that holds `embeddings`, `pre_layrnorm`, `encoder` and `post_layernorm`.
  ///
  /// - Throws: `CheckpointError` when a parameter is absent or of another shape.
  public init(config: CLIPVisionModelConfig, loader: ParameterLoader) throws(CheckpointError) {
    self.config = config
    let embeddings = loader["embeddings"]
    classEmbedding = try embeddings.tensor("class_embedding", [config.hiddenSize])
    patchEmbedding = try Conv2d(
      embeddings["patch_embedding"], inChannels: config.numChannels, outChannels: config.hiddenSize, kernel: config.patchSize,
      options: ConvOptions(stride: config.patchSize), hasBias: false)
    positionEmbedding = try embeddings.tensor("position_embedding.weight", [config.positionCount, config.hiddenSize])
    let epsilon = Float(config.layerNormEps)
    // The published checkpoints spell it this way.
    preNorm = try LayerNorm(loader["pre_layrnorm"], features: config.hiddenSize, epsilon: epsilon)
    let sizes = CLIPEncoderSizes(
      hiddenSize: config.hiddenSize, intermediateSize: config.intermediateSize, headCount: config.numAttentionHeads,
      epsilon: epsilon, activation: config.hiddenAct.kernelActivation, isCausal: false)
    var layers: [CLIPEncoderLayer] = []
    for index in 0..<config.numHiddenLayers {
      layers.append(try CLIPEncoderLayer(loader["encoder.layers.\(index)"], sizes: sizes))
    }
    self.layers = layers
    postNorm = try LayerNorm(loader["post_layernorm"], features: config.hiddenSize, epsilon: epsilon)
  }

  /// The pooled embedding of preprocessed images.
  ///
  /// - Parameter pixels: `[N, 3, imageSize, imageSize]`.
  /// - Returns: The class token after the last norm, `[N, hiddenSize]`.
  /// - Throws: `CancelledError`.
  public func callAsFunction(_ pixels: Tensor, _ context: ExecutionContext) throws -> Tensor {
    let (images, width, tokens) = (pixels.shape[0], config.hiddenSize, config.positionCount)
    let patches = patchEmbedding(pixels.channelsLast(), context)  // [N, side, side, D]
    let embedded = Tensor(shape: [images, tokens, width]) { target in
      patches.withUnsafeBuffer { patch in
        classEmbedding.withUnsafeBuffer { first in
          positionEmbedding.withUnsafeBuffer { position in
            for image in 0..<images {
              for token in 0..<tokens {
                for column in 0..<width {
                  let value = token == 0 ? first[column] : patch[(image * (tokens - 1) + token - 1) * width + column]
                  target.initializeElement(
                    at: (image * tokens + token) * width + column, to: value + position[token * width + column])
                }
              }
            }
          }
        }
      }
    }
    var hidden = preNorm(embedded, context)
    for layer in layers { hidden = try layer(hidden, context) }
    let classTokens = Tensor(shape: [images, width]) { target in
      hidden.withUnsafeBuffer { source in
        for image in 0..<images {
          for column in 0..<width {
            target.initializeElement(at: image * width + column, to: source[image * tokens * width + column])
          }
        }
      }
    }
    return postNorm(classTokens, context)
  }
}
