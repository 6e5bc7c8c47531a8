public import Tensors

/// Resizing of 8-bit images, bit for bit as Pillow's `Image.resize` does it.
///
/// Two passes, along the rows and along the columns; each output sample is a weighted sum over the input samples
/// under the filter, which is widened when shrinking (antialias). Weights are fixed-point numbers with 22 fractional bits,
/// and the result of each pass is rounded to 8 bits. Channels are independent: composite alpha first.
public enum Resample {
  /// The shape of the weights.
  public enum Filter: String, Sendable, CaseIterable {
    /// Triangle of half-width 1.
    case bilinear
    /// Keys' cubic with a = −0.5, half-width 2 (Keys 1981, eq. 4).
    case bicubic
    /// sinc(x)·sinc(x/3), half-width 3.
    case lanczos

    /// Half-width in samples at scale 1.
    var support: Double {
      switch self {
      case .bilinear: 1
      case .bicubic: 2
      case .lanczos: 3
      }
    }

    func weight(_ offset: Double) -> Double {
      let x = abs(offset)
      switch self {
      case .bilinear:
        return x < 1 ? 1 - x : 0
      case .bicubic:
        let a = -0.5
        if x < 1 { return ((a + 2) * x - (a + 3)) * x * x + 1 }
        return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0
      case .lanczos:
        return x < 3 ? Filter.sinc(x) * Filter.sinc(x / 3) : 0
      }
    }

    private static func sinc(_ x: Double) -> Double {
      if x == 0 { return 1 }
      let angle = x * Double.pi
      return sine(angle) / angle
    }
  }

  private static let fractionBits: Int32 = 22

  /// The input samples under the filter of each output sample, and their weights.
  private struct Taps {
    var start: [Int]
    var count: [Int]
    /// `stride` weights for each output sample.
    var weights: [Int32]
    var stride: Int

    init(inputSize: Int, outputSize: Int, filter: Filter) {
      let scale = Double(inputSize) / Double(outputSize)
      let filterScale = max(scale, 1)
      let support = filter.support * filterScale
      let inverse = 1 / filterScale
      stride = Int(support.rounded(.up)) * 2 + 1
      start = []
      count = []
      weights = [Int32](repeating: 0, count: stride * outputSize)
      var exact = [Double](repeating: 0, count: stride)
      for output in 0..<outputSize {
        let center = (Double(output) + 0.5) * scale
        let first = max(0, Int(center - support + 0.5))
        let end = min(inputSize, Int(center + support + 0.5))
        var sum = 0.0
        for tap in 0..<(end - first) {
          exact[tap] = filter.weight((Double(tap + first) - center + 0.5) * inverse)
          sum += exact[tap]
        }
        for tap in 0..<(end - first) {
          let weight = sum == 0 ? exact[tap] : exact[tap] / sum
          let scaled = weight * Double(1 << Int(Resample.fractionBits))
          weights[output * stride + tap] = Int32(weight < 0 ? scaled - 0.5 : scaled + 0.5)
        }
        start.append(first)
        count.append(end - first)
      }
    }
  }

  /// Resizes an image.
  ///
  /// - Parameters:
  ///   - bitmap: Any number of channels; not empty.
  ///   - width: Pixels in a row of the result, at least 1.
  ///   - height: Rows of the result, at least 1.
  ///   - filter: The shape of the weights.
  public static func resize(_ bitmap: Bitmap, width: Int, height: Int, filter: Filter) -> Bitmap {
    precondition(width > 0 && height > 0 && bitmap.width > 0 && bitmap.height > 0, "an image has at least one pixel")
    var current = bitmap
    // Pillow 13 takes the columns first where that leaves the rows less to do; the order shows in the rounding between.
    let lostRows = bitmap.height - height
    if lostRows > 0, lostRows > 2 * (bitmap.width - width) { current = vertical(current, height: height, filter: filter) }
    if width != bitmap.width { current = horizontal(current, width: width, filter: filter) }
    if height != current.height { current = vertical(current, height: height, filter: filter) }
    return current
  }

  /// Resizes so that the shorter edge becomes `edge`; the longer one is `Int(edge · long / short)`, as in transformers.
  public static func shortestEdge(_ bitmap: Bitmap, to edge: Int, filter: Filter) -> Bitmap {
    let (short, long) = (min(bitmap.width, bitmap.height), max(bitmap.width, bitmap.height))
    let other = max(1, Int(Double(edge * long) / Double(short)))
    return bitmap.width <= bitmap.height
      ? resize(bitmap, width: edge, height: other, filter: filter) : resize(bitmap, width: other, height: edge, filter: filter)
  }

  @inline(__always)
  private static func clipped(_ sum: Int32) -> UInt8 { UInt8(clamping: sum >> fractionBits) }

  private static func horizontal(_ bitmap: Bitmap, width: Int, filter: Filter) -> Bitmap {
    let taps = Taps(inputSize: bitmap.width, outputSize: width, filter: filter)
    let channels = bitmap.channels
    let samples = [UInt8](unsafeUninitializedCapacity: width * bitmap.height * channels) { target, initialized in
      bitmap.samples.withUnsafeBufferPointer { source in
        taps.weights.withUnsafeBufferPointer { weights in
          for row in 0..<bitmap.height {
            for column in 0..<width {
              let from = (row * bitmap.width + taps.start[column]) * channels
              for channel in 0..<channels {
                var sum: Int32 = 1 << (fractionBits - 1)
                for tap in 0..<taps.count[column] {
                  sum &+= Int32(source[from + tap * channels + channel]) &* weights[column * taps.stride + tap]
                }
                target.initializeElement(at: (row * width + column) * channels + channel, to: clipped(sum))
              }
            }
          }
        }
      }
      initialized = width * bitmap.height * channels
    }
    return Bitmap(width: width, height: bitmap.height, channels: channels, samples: samples)
  }

  private static func vertical(_ bitmap: Bitmap, height: Int, filter: Filter) -> Bitmap {
    let taps = Taps(inputSize: bitmap.height, outputSize: height, filter: filter)
    let stride = bitmap.width * bitmap.channels
    let samples = [UInt8](unsafeUninitializedCapacity: stride * height) { target, initialized in
      bitmap.samples.withUnsafeBufferPointer { source in
        var sums = [Int32](repeating: 0, count: stride)
        for row in 0..<height {
          for index in 0..<stride { sums[index] = 1 << (fractionBits - 1) }
          for tap in 0..<taps.count[row] {
            let weight = taps.weights[row * taps.stride + tap]
            let from = (taps.start[row] + tap) * stride
            for index in 0..<stride { sums[index] &+= Int32(source[from + index]) &* weight }
          }
          for index in 0..<stride { target.initializeElement(at: row * stride + index, to: clipped(sums[index])) }
        }
      }
      initialized = stride * height
    }
    return Bitmap(width: bitmap.width, height: height, channels: bitmap.channels, samples: samples)
  }
}
