public import Checkpoints
import Imaging
public import Tensors

/// Prepares an image for a CLIP vision tower; equals transformers' `CLIPImageProcessor` with Pillow.
public struct CLIPImageProcessor: Sendable {
  /// Sizes, means and deviations.
  public let config: CLIPImageProcessorConfig

  /// Makes a processor.
  public init(config: CLIPImageProcessorConfig) { self.config = config }

  /// Shrinks the shorter edge, cuts out the centre, scales and normalises.
  ///
  /// - Parameter image: RGB.
  /// - Returns: `[1, 3, cropHeight, cropWidth]`.
  public func callAsFunction(_ image: Bitmap) -> Tensor {
    var image = image
    if config.doResize {
      image = Resample.shortestEdge(
        image, to: config.shortestEdge, filter: config.resample == 2 ? .bilinear : config.resample == 1 ? .lanczos : .bicubic)
    }
    let height = config.doCenterCrop ? config.cropHeight : image.height
    let width = config.doCenterCrop ? config.cropWidth : image.width
    // transformers' center_crop: the upper left corner rounds down, and what lies outside is black.
    let top = (image.height - height) >> 1
    let left = (image.width - width) >> 1
    return Tensor(shape: [1, 3, height, width]) { target in
      for channel in 0..<3 {
        let mean = config.doNormalize ? Float(config.imageMean[channel]) : 0
        let deviation = config.doNormalize ? Float(config.imageStd[channel]) : 1
        for row in 0..<height {
          for column in 0..<width {
            let (y, x) = (row + top, column + left)
            let isInside = y >= 0 && y < image.height && x >= 0 && x < image.width
            let sample = isInside ? Float(image.samples[(y * image.width + x) * 3 + channel]) : 0
            target.initializeElement(
              at: (channel * height + row) * width + column, to: (sample * Float(config.rescaleFactor) - mean) / deviation)
          }
        }
      }
    }
  }
}
