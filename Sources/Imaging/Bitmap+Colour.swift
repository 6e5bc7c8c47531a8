public import Tensors

extension Bitmap {
  /// The image as RGB; transparent parts show white behind them.
  ///
  /// `round((c·a + 255·(255 − a)) / 255)`, which is Pillow's `alpha_composite` on an opaque white image. Grey is repeated.
  public func rgbOnWhite() -> Bitmap {
    if channels == 3 { return self }
    let hasAlpha = channels == 2 || channels == 4
    let colours = hasAlpha ? channels - 1 : channels
    var output = [UInt8](repeating: 0, count: width * height * 3)
    for pixel in 0..<(width * height) {
      let alpha = hasAlpha ? Int(samples[pixel * channels + colours]) : 255
      for channel in 0..<3 {
        let value = Int(samples[pixel * channels + min(channel, colours - 1)])
        output[pixel * 3 + channel] = UInt8((value * alpha + 255 * (255 - alpha) + 127) / 255)
      }
    }
    return Bitmap(width: width, height: height, channels: 3, samples: output)
  }

  /// The image in one channel, transparent parts on white: ITU-R 601-2 luma in Pillow's 16-bit fixed point (`convert("L")`).
  public func grey() -> Bitmap {
    if channels == 1 { return self }
    let rgb = rgbOnWhite()
    let output = (0..<(width * height)).map { pixel -> UInt8 in
      let red = Int(rgb.samples[pixel * 3])
      let green = Int(rgb.samples[pixel * 3 + 1])
      let blue = Int(rgb.samples[pixel * 3 + 2])
      return UInt8((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16)
    }
    return Bitmap(width: width, height: height, channels: 1, samples: output)
  }

  /// The part of the image from (`x`, `y`) on; what lies outside the image is black.
  public func cropped(x: Int, y: Int, width newWidth: Int, height newHeight: Int) -> Bitmap {
    precondition(newWidth >= 0 && newHeight >= 0)
    var output = [UInt8](repeating: 0, count: newWidth * newHeight * channels)
    let columns = max(0, -x)..<max(max(0, -x), min(newWidth, width - x))
    for row in 0..<newHeight where y + row >= 0 && y + row < height && !columns.isEmpty {
      let source = ((y + row) * width + x + columns.lowerBound) * channels
      let target = (row * newWidth + columns.lowerBound) * channels
      let count = columns.count * channels
      output.replaceSubrange(target..<(target + count), with: samples[source..<(source + count)])
    }
    return Bitmap(width: newWidth, height: newHeight, channels: channels, samples: output)
  }

  /// The middle of the image.
  ///
  /// Offsets are rounded down, as in transformers; a smaller image is padded with black.
  public func centerCropped(width newWidth: Int, height newHeight: Int) -> Bitmap {
    // Floor division, also for the negative offsets of a smaller image.
    cropped(x: (width - newWidth) >> 1, y: (height - newHeight) >> 1, width: newWidth, height: newHeight)
  }
}
