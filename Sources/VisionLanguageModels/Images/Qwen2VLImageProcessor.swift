import Imaging
import Tensors

/// Stretches an image to whole squares of patches and cuts it into them.
///
/// Equals transformers' `Qwen2VLImageProcessorPil`: sides are rounded half to even, then scaled into the limits of pixels;
/// patches come square by square, row by row within a square, as the merger joins them.
struct Qwen2VLImageProcessor {
  /// The longest side over the shortest that is taken.
  static let largestAspect = 200.0

  private let config: VisionConfig

  init(_ config: VisionConfig) { self.config = config }

  func preprocess(_ bitmap: Bitmap) throws(VisionLanguageError) -> PreprocessedImage {
    let rgb = try PixelNormalization.rgb(bitmap)
    let size = try Self.smartResize(
      width: rgb.width, height: rgb.height, factor: config.patchSize * config.mergeSize, minPixels: config.minPixels,
      maxPixels: config.maxPixels)
    let resized = Resample.resize(rgb, width: size.width, height: size.height, filter: .bicubic)
    let (rows, columns) = (size.height / config.patchSize, size.width / config.patchSize)
    return PreprocessedImage(pixels: patches(of: resized, rows: rows, columns: columns), rows: rows, columns: columns)
  }

  /// The nearest size whose sides are multiples of `factor` and whose area is within the limits.
  static func smartResize(width: Int, height: Int, factor: Int, minPixels: Int, maxPixels: Int) throws(VisionLanguageError)
    -> (width: Int, height: Int)
  {
    guard Double(max(width, height)) / Double(min(width, height)) <= largestAspect else {
      throw VisionLanguageError(
        .invalidImage,
        "image of \(width)x\(height): expected sides of at most \(Int(largestAspect)) to 1; crop it or choose another")
    }
    let unit = Double(factor)
    func rounded(_ side: Int) -> Int { Int((Double(side) / unit).rounded(.toNearestOrEven)) * factor }
    let (newWidth, newHeight) = (rounded(width), rounded(height))
    let area = Double(width * height)
    if newWidth * newHeight > maxPixels {
      let shrink = (area / Double(maxPixels)).squareRoot()
      func reduced(_ side: Int) -> Int { max(factor, Int((Double(side) / shrink / unit).rounded(.down)) * factor) }
      return (reduced(width), reduced(height))
    }
    if newWidth * newHeight < minPixels {
      let growth = (Double(minPixels) / area).squareRoot()
      func enlarged(_ side: Int) -> Int { Int((Double(side) * growth / unit).rounded(.up)) * factor }
      return (enlarged(width), enlarged(height))
    }
    // With limits below a square of patches, rounding could leave nothing.
    return (max(newWidth, factor), max(newHeight, factor))
  }

  /// `[patches, 3, size, size]`.
  private func patches(of bitmap: Bitmap, rows: Int, columns: Int) -> Tensor {
    let (size, square, normalization) = (config.patchSize, config.mergeSize, PixelNormalization(config))
    return Tensor(shape: [rows * columns, 3, size, size]) { target in
      var index = 0
      for top in stride(from: 0, to: rows, by: square) {
        for left in stride(from: 0, to: columns, by: square) {
          for row in top..<(top + square) {
            for column in left..<(left + square) {
              for channel in 0..<3 {
                for line in 0..<size {
                  for x in 0..<size {
                    let pixel = (row * size + line) * bitmap.width + column * size + x
                    target.initializeElement(
                      at: index, to: normalization.value(bitmap.samples[pixel * 3 + channel], channel: channel))
                    index += 1
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}
