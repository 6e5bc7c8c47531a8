internal import Tensors

/// Mean and variance of channel groups of `[images, pixels, channels]`.
///
/// One pass over the input: for each channel the sums of `d = x - pivot` and of `d²`, where the pivot is the channel's first
/// pixel, so that a large common offset doesn't cancel. Vectors sum 32 pixels, `Double`s sum those sums, and channels are
/// joined to groups by their means and squared deviations. The pixels are cut by the shape alone.
struct GroupStatistics {
  let images: Int
  let pixels: Int
  let channels: Int
  let groupCount: Int

  /// Pixels of one task; at most 64 tasks an image, so that the partial sums stay small.
  private var chunk: Int { max(32, (max(pixels / 64, 8192 / channels) + 31) / 32 * 32) }

  /// Writes center, scale and shift per channel, `[images, 3, channels]`, for `(x - center) · scale + shift`.
  ///
  /// The center is the group's mean as a `Float`; what that rounding loses is in the shift.
  func factors(
    of input: UnsafePointer<Float>, weight: UnsafePointer<Float>, bias: UnsafePointer<Float>, epsilon: Float,
    into factors: UnsafeMutablePointer<Float>, on pool: WorkCrew
  ) {
    let chunkCount = (pixels + chunk - 1) / chunk
    withUnsafeTemporaryAllocation(of: Double.self, capacity: images * chunkCount * 2 * channels) { buffer in
      // Sums of d and of d², `[images, chunks, 2, channels]`.
      guard let sums = buffer.baseAddress else { return }
      pool.parallelFor(images * chunkCount, scratchBytes: 2 * channels * MemoryLayout<Float>.stride) { task, scratch in
        let image = task / chunkCount
        let first = task % chunkCount * chunk
        let base = input + image * pixels * channels
        addUp(
          base, range: first..<min(pixels, first + chunk), into: sums + task * 2 * channels,
          floats: scratch.assumingMemoryBound(to: Float.self))
      }
      for image in 0..<images {
        join(
          sums + image * chunkCount * 2 * channels, chunkCount: chunkCount, pivots: input + image * pixels * channels,
          weight: weight, bias: bias, epsilon: Double(epsilon), into: factors + image * 3 * channels)
      }
    }
  }

  /// Sums of one chunk of pixels.
  private func addUp(
    _ image: UnsafePointer<Float>, range: Range<Int>, into sums: UnsafeMutablePointer<Double>,
    floats: UnsafeMutablePointer<Float>
  ) {
    sums.update(repeating: 0, count: 2 * channels)
    for first in stride(from: range.lowerBound, to: range.upperBound, by: 32) {
      let end = min(range.upperBound, first + 32)
      var channel = 0
      while channel < channels {
        let whole = channel + lanes <= channels
        let count = whole ? lanes : channels - channel
        let pivot = whole ? load(image + channel) : loadPartial(image + channel, count)
        var sum = Vector()
        var squares = Vector()
        for pixel in first..<end {
          let source = image + pixel * channels + channel
          let difference = (whole ? load(source) : loadPartial(source, count)) - pivot
          sum += difference
          squares = multiplyAdd(squares, difference, difference)
        }
        for lane in 0..<count {
          sums[channel + lane] += Double(sum[lane])
          sums[channels + channel + lane] += Double(squares[lane])
        }
        channel += lanes
      }
    }
  }

  /// Joins the chunks of an image, then the channels of each group.
  private func join(
    _ sums: UnsafeMutablePointer<Double>, chunkCount: Int, pivots: UnsafePointer<Float>, weight: UnsafePointer<Float>,
    bias: UnsafePointer<Float>, epsilon: Double, into factors: UnsafeMutablePointer<Float>
  ) {
    for chunk in 1..<max(chunkCount, 1) {
      for index in 0..<(2 * channels) { sums[index] += sums[chunk * 2 * channels + index] }
    }
    let count = Double(pixels)
    let groupChannels = channels / groupCount
    for group in 0..<groupCount {
      let members = (group * groupChannels)..<((group + 1) * groupChannels)
      var mean = 0.0
      for channel in members { mean += Double(pivots[channel]) + sums[channel] / count }
      mean /= Double(groupChannels)
      var squares = 0.0
      for channel in members {
        let sum = sums[channel]
        let fromMean = Double(pivots[channel]) + sum / count - mean
        squares += max(0, sums[channels + channel] - sum * sum / count) + count * fromMean * fromMean
      }
      let deviation = 1 / (squares / (count * Double(groupChannels)) + epsilon).squareRoot()
      for channel in members {
        let scale = Double(weight[channel]) * deviation
        factors[channel] = Float(mean)
        factors[channels + channel] = Float(scale)
        factors[2 * channels + channel] = Float(Double(bias[channel]) + (Double(Float(mean)) - mean) * scale)
      }
    }
  }
}
