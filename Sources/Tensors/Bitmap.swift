/// An image of 8-bit samples in rows from the top, channels interleaved: `[H, W, C]`.
public struct Bitmap: Sendable, Hashable {
  /// Pixels in a row.
  public let width: Int
  /// Rows.
  public let height: Int
  /// Samples of a pixel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
  public let channels: Int
  /// `height · width · channels` samples.
  public var samples: [UInt8]

  /// Makes an image.
  ///
  /// - Precondition: `samples` has `width · height · channels` elements.
  public init(width: Int, height: Int, channels: Int = 3, samples: [UInt8]) {
    precondition(width >= 0 && height >= 0 && (1...4).contains(channels) && samples.count == width * height * channels)
    self.width = width
    self.height = height
    self.channels = channels
    self.samples = samples
  }

  /// Makes an image from values in 0...1 of shape `[1, C, H, W]` or `[C, H, W]`; rounds half to even, as NumPy does.
  public init(unitValues tensor: Tensor) {
    let dimensions = Array(tensor.shape.dimensions.suffix(3))
    precondition(dimensions.count == 3 && tensor.count == dimensions.reduce(1, *), "[1, C, H, W] expected, got \(tensor.shape)")
    let (channels, height, width) = (dimensions[0], dimensions[1], dimensions[2])
    var samples = [UInt8](repeating: 0, count: tensor.count)
    tensor.withUnsafeBuffer { values in
      for channel in 0..<channels {
        for pixel in 0..<(height * width) {
          let value = values[channel * height * width + pixel]
          samples[pixel * channels + channel] = UInt8((min(max(value, 0), 1) * 255).rounded(.toNearestOrEven))
        }
      }
    }
    self.init(width: width, height: height, channels: channels, samples: samples)
  }

  /// The samples as values in 0...1, shape `[1, C, H, W]`.
  public var unitValues: Tensor {
    Tensor(shape: [1, channels, height, width]) { target in
      for channel in 0..<channels {
        for pixel in 0..<(height * width) {
          target.initializeElement(
            at: channel * height * width + pixel, to: Float(samples[pixel * channels + channel]) / 255)
        }
      }
    }
  }
}
