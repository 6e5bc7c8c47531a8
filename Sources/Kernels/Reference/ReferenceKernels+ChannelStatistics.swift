public import KernelContract
public import Tensors

extension ReferenceKernels {
  /// Mean and squared deviations of each channel of each image, in two passes.
  public func channelStatistics(_ input: Tensor) -> ChannelStatistics {
    precondition(input.shape.rank >= 2, "channelStatistics: [N, ..., C] expected, got \(input.shape)")
    let (images, channels) = (input.shape[0], input.shape[-1])
    let pixels = images * channels == 0 ? 0 : input.count / (images * channels)
    var means: [Double] = []
    var squares: [Double] = []
    input.withUnsafeBuffer { input in
      for image in 0..<images {
        for channel in 0..<channels {
          let first = image * pixels * channels + channel
          var sum = 0.0
          for pixel in 0..<pixels { sum += Double(input[first + pixel * channels]) }
          let mean = sum / Double(max(pixels, 1))
          var square = 0.0
          for pixel in 0..<pixels {
            let difference = Double(input[first + pixel * channels]) - mean
            square += difference * difference
          }
          means.append(mean)
          squares.append(square)
        }
      }
    }
    return ChannelStatistics(images: images, channels: channels, count: pixels, means: means, squares: squares)
  }

  /// `activation((x - center) · scale + shift)` for each channel of each image.
  public func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor {
    let (images, channels) = (input.shape[0], input.shape[-1])
    precondition(
      factors.values.shape == [images, 3, channels],
      "normalize: factors [\(images), 3, \(channels)] expected, got \(factors.values.shape)")
    let imageLength = images == 0 ? 0 : input.count / images
    return Tensor(shape: input.shape) { output in
      input.withUnsafeBuffer { input in
        factors.values.withUnsafeBuffer { factors in
          for index in input.indices {
            let row = index / imageLength * 3 * channels + index % channels
            let centered = Double(input[index]) - Double(factors[row])
            let value = centered * Double(factors[row + channels]) + Double(factors[row + 2 * channels])
            output.initializeElement(at: index, to: Float(activation.value(value)))
          }
        }
      }
    }
  }
}
