public import KernelContract
public import Tensors

extension FastKernels {
  /// `activation((x - mean) / sqrt(variance + epsilon) * weight + bias)`, statistics over one group of one image: two passes.
  public func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor {
    let factors = ChannelFactors(
      channelStatistics(input), groupCount: groupCount, weight: weight, bias: bias, epsilon: epsilon)
    return normalize(input, by: factors, activation: activation)
  }

  /// Mean and squared deviations of each channel of each image, in one pass.
  public func channelStatistics(_ input: Tensor) -> ChannelStatistics {
    precondition(input.shape.rank >= 2, "channelStatistics: [N, ..., C] expected, got \(input.shape)")
    let (images, channels) = (input.shape[0], input.shape[-1])
    let pixels = images * channels == 0 ? 0 : input.count / (images * channels)
    return input.withPointer { pointer in
      guard let pointer, pixels > 0 else {
        let zeros = [Double](repeating: 0, count: images * channels)
        return ChannelStatistics(images: images, channels: channels, count: 0, means: zeros, squares: zeros)
      }
      return GroupStatistics(images: images, pixels: pixels, channels: channels).run(on: pointer, pool: pool)
    }
  }

  /// `activation((x - center) · scale + shift)` for each channel of each image.
  public func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor {
    precondition(input.shape.rank >= 2, "normalize: [N, ..., C] expected, got \(input.shape)")
    let (images, channels) = (input.shape[0], input.shape[-1])
    precondition(
      factors.values.shape == [images, 3, channels],
      "normalize: factors [\(images), 3, \(channels)] expected, got \(factors.values.shape)")
    let pixels = images * channels == 0 ? 0 : input.count / (images * channels)
    return Tensor.filled(input.shape) { output in
      withPointers(input, factors.values) { input, factors, _ in
        guard let input, let factors, pixels > 0 else { return }
        let grain = max(1, 16_384 / channels)
        let tasksPerImage = (pixels + grain - 1) / grain
        pool.parallelFor(images * tasksPerImage) { task, _ in
          let image = task / tasksPerImage
          let first = task % tasksPerImage * grain
          let center = factors + image * 3 * channels
          for pixel in first..<min(pixels, first + grain) {
            let offset = (image * pixels + pixel) * channels
            normalizePixel(
              input + offset, output + offset, factors: center, stride: channels, count: channels, activation: activation)
          }
        }
      }
    }
  }

  /// Normalises the last axis to zero mean and unit variance, then scales and shifts.
  public func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor {
    let width = input.shape[-1]
    precondition(weight.count == width && bias.count == width, "layerNorm: weight and bias [\(width)] expected")
    let rows = width == 0 ? 0 : input.count / width
    return Tensor.filled(input.shape) { output in
      withPointers(input, weight, bias) { input, weight, bias in
        guard let input, let weight, let bias else { return }
        pool.parallelRanges(rows, grain: max(1, 8192 / max(width, 1))) { range, _ in
          for row in range {
            let source = input + row * width
            let mean = Float(sum(source, width) { x in x } / Double(width))
            let center = Vector(repeating: mean)
            let squares = sum(source, width, center: mean) { x in
              let difference = x - center
              return difference * difference
            }
            let scale = Float(1 / (squares / Double(width) + Double(epsilon)).squareRoot())
            mapVectors(source, output + row * width, width) { x, index in
              let whole = index + lanes <= width
              let w = whole ? load(weight + index) : loadPartial(weight + index, width - index)
              let b = whole ? load(bias + index) : loadPartial(bias + index, width - index)
              return multiplyAdd(b, (x - center) * Vector(repeating: scale), w)
            }
          }
        }
      }
    }
  }

  /// `x / sqrt(mean(x²) + epsilon) * weight` over the last axis.
  public func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor {
    let width = input.shape[-1]
    precondition(weight.count == width, "rmsNorm: weight [\(width)] expected")
    let rows = width == 0 ? 0 : input.count / width
    return Tensor.filled(input.shape) { output in
      withPointers(input, weight) { input, weight, _ in
        guard let input, let weight else { return }
        pool.parallelRanges(rows, grain: max(1, 8192 / max(width, 1))) { range, _ in
          for row in range {
            let source = input + row * width
            let squares = sum(source, width) { x in x * x }
            let scale = Float(1 / (squares / Double(width) + Double(epsilon)).squareRoot())
            mapVectors(source, output + row * width, width) { x, index in
              let w = index + lanes <= width ? load(weight + index) : loadPartial(weight + index, width - index)
              return x * Vector(repeating: scale) * w
            }
          }
        }
      }
    }
  }
}

/// The sum of `term(x)` over a row, in two vectors of partial sums that are joined in `Double`.
///
/// - Parameter center: What the padding lanes of the last vector hold, so that their terms are zero.
@inline(__always)
private func sum(_ row: UnsafePointer<Float>, _ count: Int, center: Float = 0, _ term: (Vector) -> Vector) -> Double {
  var s0 = Vector()
  var s1 = Vector()
  var index = 0
  while index + 2 * lanes <= count {
    s0 += term(load(row + index))
    s1 += term(load(row + index + lanes))
    index += 2 * lanes
  }
  while index < count {
    var padded = Vector(repeating: center)
    for lane in 0..<min(lanes, count - index) { padded[lane] = row[index + lane] }
    s0 += term(padded)
    index += lanes
  }
  let both = s0 + s1
  var total = 0.0
  for lane in 0..<lanes { total += Double(both[lane]) }
  return total
}

/// `activation((source - center) * scale + shift)` over channels of one pixel.
///
/// - Parameter factors: Center, scale and shift of the channels, `stride` floats apart.
@inline(__always)
func normalizePixel(
  _ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<Float>, factors: UnsafePointer<Float>, stride: Int,
  count: Int, activation: Activation
) {
  @inline(__always) func affine(_ x: Vector, _ index: Int) -> Vector {
    @inline(__always) func factor(_ row: Int) -> Vector {
      let pointer = factors + row * stride + index
      return index + lanes <= count ? load(pointer) : loadPartial(pointer, count - index)
    }
    return multiplyAdd(factor(2), x - factor(0), factor(1))
  }
  switch activation {
  case .none: mapVectors(source, target, count) { x, index in affine(x, index) }
  case .silu: mapVectors(source, target, count) { x, index in activated(.silu, affine(x, index)) }
  default: mapVectors(source, target, count) { x, index in activated(activation, affine(x, index)) }
  }
}
