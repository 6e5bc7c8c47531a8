public import Checkpoints
public import KernelContract
public import Tensors

/// The variational autoencoder between pixels and latents; equals diffusers' `AutoencoderKL`.
///
/// Kingma & Welling 2013, arXiv:1312.6114; Rombach et al. 2022, arXiv:2112.10752, section 3.1.
public struct AutoencoderKL: Sendable {
  /// The two halves, so that text-to-image doesn't load the encoder.
  public enum Part: Sendable { case encoder, decoder }

  /// The configuration that the network was built from.
  public let config: AutoencoderKLConfig
  private let encoder: Encoder?
  private let quantize: Linear?
  private let decoder: Decoder?
  private let postQuantize: Linear?

  /// Builds the network.
  ///
  /// - Parameters:
  ///   - parts: What is needed.
  /// - Throws: `CheckpointError` when a parameter is absent or of another shape.
  public init(config: AutoencoderKLConfig, parts: Set<Part>, loader: ParameterLoader) throws(CheckpointError) {
    self.config = config
    let latents = config.latentChannels
    encoder = parts.contains(.encoder) ? try Encoder(config: config, loader: loader["encoder"]) : nil
    quantize =
      parts.contains(.encoder) && config.useQuantConv
      ? try Linear(loader["quant_conv"], inFeatures: 2 * latents, outFeatures: 2 * latents) : nil
    decoder = parts.contains(.decoder) ? try Decoder(config: config, loader: loader["decoder"]) : nil
    postQuantize =
      parts.contains(.decoder) && config.usePostQuantConv
      ? try Linear(loader["post_quant_conv"], inFeatures: latents, outFeatures: latents) : nil
  }

  /// The distribution of an image's latents.
  ///
  /// - Parameters:
  ///   - image: `[N, 3, H, W]`, values -1...1.
  ///   - memory: What maps may take.
  /// - Throws: `CancelledError`.
  public func encode(
    _ image: Tensor, memory: MapMemory = .ample, _ context: ExecutionContext
  ) throws -> DiagonalGaussianDistribution {
    guard let encoder else { preconditionFailure("the encoder wasn't loaded") }
    let hidden = try encoder(image.channelsLast(), memory: memory, context)
    let moments = quantize.map { $0(hidden, context) } ?? hidden
    return DiagonalGaussianDistribution(moments: moments.channelsFirst())
  }

  /// The image of latents that were divided by the scaling factor already.
  ///
  /// - Parameters:
  ///   - latents: `[N, latentChannels, h, w]`.
  ///   - memory: What maps may take; the image is the same, but for the last bits.
  /// - Returns: `[N, 3, H, W]`, about -1...1.
  /// - Throws: `CancelledError`.
  public func decode(_ latents: Tensor, memory: MapMemory = .ample, _ context: ExecutionContext) throws -> Tensor {
    guard let decoder else { preconditionFailure("the decoder wasn't loaded") }
    let input = latents.channelsLast()
    return try decoder(postQuantize.map { $0(input, context) } ?? input, memory: memory, context).channelsFirst()
  }
}

/// A Gaussian for each latent; equals diffusers' `DiagonalGaussianDistribution`.
public struct DiagonalGaussianDistribution: Sendable {
  /// `[N, C, h, w]`.
  public let mean: Tensor
  /// Natural logarithm of the variance, clamped to -30...20; `[N, C, h, w]`.
  public let logVariance: Tensor

  /// Splits moments `[N, 2C, h, w]`: means first.
  init(moments: Tensor) {
    let (images, channels) = (moments.shape[0], moments.shape[1] / 2)
    let plane = channels * moments.shape[2] * moments.shape[3]
    let shape: Shape = [images, channels, moments.shape[2], moments.shape[3]]
    func half(_ offset: Int, _ transform: (Float) -> Float) -> Tensor {
      Tensor(shape: shape) { target in
        moments.withUnsafeBuffer { source in
          for image in 0..<images {
            for index in 0..<plane {
              target.initializeElement(
                at: image * plane + index, to: transform(source[(2 * image + offset) * plane + index]))
            }
          }
        }
      }
    }
    mean = half(0) { $0 }
    logVariance = half(1) { min(max($0, -30), 20) }
  }

  /// `mean + exp(logVariance / 2) · noise`.
  ///
  /// - Parameter noise: Unit-normal, shaped as the mean.
  public func sample(noise: Tensor) -> Tensor {
    let deviation = logVariance.map { exponential(0.5 * $0) }
    return mean.zip(deviation.zip(noise, *), +)
  }
}
