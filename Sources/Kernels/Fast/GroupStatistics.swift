internal import KernelContract
internal import Tensors

/// Mean and squared deviations of the channels of `[images, pixels, channels]`.
///
/// One pass over the input: for each channel the sums of `d = x - pivot` and of `d²`, where the pivot is the channel's first
/// pixel, so that a large common offset doesn't cancel. Vectors sum 64 pixels, `Double`s sum those sums. The pixels are cut by
/// the shape alone.
struct GroupStatistics {
  let images: Int
  let pixels: Int
  let channels: Int

  /// Pixels that are summed in single precision.
  private static let block = 64

  /// Pixels of one task; at most 64 tasks an image, so that the partial sums stay small.
  private var chunk: Int {
    max(Self.block, (max(pixels / 64, 8192 / channels) + Self.block - 1) / Self.block * Self.block)
  }

  /// Computes the statistics; there must be pixels and channels.
  func run(on input: UnsafePointer<Float>, pool: WorkCrew) -> ChannelStatistics {
    let chunkCount = (pixels + chunk - 1) / chunk
    var means = [Double](repeating: 0, count: images * channels)
    var squares = means
    withUnsafeTemporaryAllocation(of: Double.self, capacity: images * chunkCount * 2 * channels) { buffer in
      // Sums of d and of d², `[images, chunks, 2, channels]`.
      guard let sums = buffer.baseAddress else { return }
      // A cancelled loop leaves parts of them unwritten.
      sums.update(repeating: 0, count: images * chunkCount * 2 * channels)
      pool.parallelFor(images * chunkCount) { task, _ in
        let image = task / chunkCount
        let first = task % chunkCount * chunk
        addUp(input + image * pixels * channels, range: first..<min(pixels, first + chunk), into: sums + task * 2 * channels)
      }
      let count = Double(pixels)
      for image in 0..<images {
        let total = sums + image * chunkCount * 2 * channels
        for chunk in 1..<max(chunkCount, 1) {
          for index in 0..<(2 * channels) { total[index] += total[chunk * 2 * channels + index] }
        }
        for channel in 0..<channels {
          let pivot = Double(input[image * pixels * channels + channel])
          means[image * channels + channel] = pivot + total[channel] / count
          let square = total[channels + channel] - total[channel] * total[channel] / count
          squares[image * channels + channel] = square < 0 ? 0 : square
        }
      }
    }
    return ChannelStatistics(images: images, channels: channels, count: pixels, means: means, squares: squares)
  }

  /// Sums of one chunk of pixels: four vectors of channels at a time, so that each row of a pixel is read in stretches that the
  /// memory hands over whole.
  private func addUp(_ image: UnsafePointer<Float>, range: Range<Int>, into sums: UnsafeMutablePointer<Double>) {
    for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.block) {
      let end = min(range.upperBound, first + Self.block)
      var channel = 0
      while channel + 4 * lanes <= channels {
        let pivot0 = load(image + channel)
        let pivot1 = load(image + channel + lanes)
        let pivot2 = load(image + channel + 2 * lanes)
        let pivot3 = load(image + channel + 3 * lanes)
        var sum0 = Vector()
        var sum1 = Vector()
        var sum2 = Vector()
        var sum3 = Vector()
        var square0 = Vector()
        var square1 = Vector()
        var square2 = Vector()
        var square3 = Vector()
        var source = image + first * channels + channel
        for _ in first..<end {
          let d0 = load(source) - pivot0
          let d1 = load(source + lanes) - pivot1
          let d2 = load(source + 2 * lanes) - pivot2
          let d3 = load(source + 3 * lanes) - pivot3
          sum0 += d0
          sum1 += d1
          sum2 += d2
          sum3 += d3
          square0 = multiplyAdd(square0, d0, d0)
          square1 = multiplyAdd(square1, d1, d1)
          square2 = multiplyAdd(square2, d2, d2)
          square3 = multiplyAdd(square3, d3, d3)
          source += channels
        }
        let target = sums + channel
        add(sum0, to: target, lanes)
        add(sum1, to: target + lanes, lanes)
        add(sum2, to: target + 2 * lanes, lanes)
        add(sum3, to: target + 3 * lanes, lanes)
        add(square0, to: target + channels, lanes)
        add(square1, to: target + channels + lanes, lanes)
        add(square2, to: target + channels + 2 * lanes, lanes)
        add(square3, to: target + channels + 3 * lanes, lanes)
        channel += 4 * lanes
      }
      while channel < channels {
        let count = min(lanes, channels - channel)
        let isWhole = count == lanes
        let pivot = isWhole ? load(image + channel) : loadPartial(image + channel, count)
        var sum = Vector()
        var square = Vector()
        for pixel in first..<end {
          let source = image + pixel * channels + channel
          let difference = (isWhole ? load(source) : loadPartial(source, count)) - pivot
          sum += difference
          square = multiplyAdd(square, difference, difference)
        }
        add(sum, to: sums + channel, count)
        add(square, to: sums + channels + channel, count)
        channel += lanes
      }
    }
  }

  @inline(__always)
  private func add(_ vector: Vector, to sums: UnsafeMutablePointer<Double>, _ count: Int) {
    for lane in 0..<count { sums[lane] += Double(vector[lane]) }
  }
}
