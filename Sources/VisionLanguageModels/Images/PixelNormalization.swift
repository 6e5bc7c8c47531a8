import Imaging
import Tensors

/// 8-bit samples as the numbers that a vision tower was trained on: `(sample / 255 − mean) / deviation`.
struct PixelNormalization {
  /// The 256 values of each channel.
  private let table: [Float]

  init(_ config: VisionConfig) {
    table = (0..<3).flatMap { channel in
      (0..<256).map { sample in
        (Float(Double(sample) * (1 / 255)) - config.imageMean[channel]) / config.imageStandardDeviation[channel]
      }
    }
  }

  @inline(__always)
  func value(_ sample: UInt8, channel: Int) -> Float { table[channel * 256 + Int(sample)] }

  /// The image as RGB on white.
  ///
  /// - Throws: ``VisionLanguageError`` when it has no pixels.
  static func rgb(_ bitmap: Bitmap) throws(VisionLanguageError) -> Bitmap {
    guard bitmap.width > 0, bitmap.height > 0 else {
      throw VisionLanguageError(.invalidImage, "image: expected at least 1x1 pixels, found \(bitmap.width)x\(bitmap.height)")
    }
    return bitmap.rgbOnWhite()
  }
}
