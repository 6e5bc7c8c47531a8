public import KernelContract
public import Tensors

extension ReferenceKernels {
  /// `activation((x - mean) / sqrt(variance + epsilon) * weight + bias)`, statistics over one group of one image.
  public func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor {
    precondition(input.shape.rank >= 2, "groupNorm: [N, ..., C] expected, got \(input.shape)")
    let images = input.shape[0]
    let channels = input.shape[-1]
    precondition(
      groupCount > 0 && channels % groupCount == 0, "groupNorm: \(groupCount) groups don't divide \(channels) channels")
    precondition(weight.count == channels && bias.count == channels, "groupNorm: weight and bias [\(channels)] expected")
    let pixels = images * channels == 0 ? 0 : input.count / (images * channels)
    let groupChannels = channels / groupCount
    return Tensor(shape: input.shape) { output in
      input.withUnsafeBuffer { input in
        for image in 0..<images {
          for group in 0..<groupCount {
            let first = image * pixels * channels + group * groupChannels
            let (mean, scale) = Self.meanAndScale(count: pixels * groupChannels, epsilon: Double(epsilon)) { index in
              Double(input[first + index / groupChannels * channels + index % groupChannels])
            }
            for pixel in 0..<pixels {
              for channel in 0..<groupChannels {
                let position = first + pixel * channels + channel
                let parameter = group * groupChannels + channel
                let normalized = (Double(input[position]) - mean) * scale
                let value = normalized * Double(weight[flat: parameter]) + Double(bias[flat: parameter])
                output[position] = Float(activation.value(value))
              }
            }
          }
        }
      }
    }
  }

  /// Normalises the last axis to zero mean and unit variance, then scales and shifts.
  public func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor {
    let width = input.shape[-1]
    precondition(weight.count == width && bias.count == width, "layerNorm: weight and bias [\(width)] expected")
    return Tensor(shape: input.shape) { output in
      input.withUnsafeBuffer { input in
        for row in 0..<(input.count / max(width, 1)) {
          let first = row * width
          let (mean, scale) = Self.meanAndScale(count: width, epsilon: Double(epsilon)) { Double(input[first + $0]) }
          for column in 0..<width {
            let normalized = (Double(input[first + column]) - mean) * scale
            output[first + column] = Float(normalized * Double(weight[flat: column]) + Double(bias[flat: column]))
          }
        }
      }
    }
  }

  /// `x / sqrt(mean(x²) + epsilon) * weight` over the last axis.
  public func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor {
    let width = input.shape[-1]
    precondition(weight.count == width, "rmsNorm: weight [\(width)] expected")
    return Tensor(shape: input.shape) { output in
      input.withUnsafeBuffer { input in
        for row in 0..<(input.count / max(width, 1)) {
          let first = row * width
          var sum = 0.0
          for column in 0..<width { sum += Double(input[first + column]) * Double(input[first + column]) }
          let scale = 1 / (sum / Double(width) + Double(epsilon)).squareRoot()
          for column in 0..<width {
            output[first + column] = Float(Double(input[first + column]) * scale * Double(weight[flat: column]))
          }
        }
      }
    }
  }

  /// The mean, and `1 / sqrt(variance + epsilon)` with the biased variance, in two passes.
  static func meanAndScale(count: Int, epsilon: Double, _ value: (Int) -> Double) -> (mean: Double, scale: Double) {
    var sum = 0.0
    for index in 0..<count { sum += value(index) }
    let mean = sum / Double(max(count, 1))
    var squares = 0.0
    for index in 0..<count {
      let difference = value(index) - mean
      squares += difference * difference
    }
    return (mean, 1 / (squares / Double(max(count, 1)) + epsilon).squareRoot())
  }
}
