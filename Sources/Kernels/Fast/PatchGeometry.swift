internal import KernelContract

/// Where the patches of a convolution lie in its input, for products that gather them block by block.
struct PatchGeometry {
  /// `[images, height, width, channels]`.
  var input: UnsafePointer<Float>
  let height: Int
  let width: Int
  var channels: Int
  let kernelHeight: Int
  let kernelWidth: Int
  let outHeight: Int
  let outWidth: Int
  let options: ConvOptions

  /// Kernel positions.
  var tapCount: Int { kernelHeight * kernelWidth }

  /// Input channels whose taps make up one block of the depth: about 320 elements, at least one channel.
  var channelsPerChunk: Int {
    let fitting = max(1, 320 / tapCount)
    return channels <= fitting ? channels : (fitting >= 8 ? fitting / 8 * 8 : fitting)
  }

  /// Whether two neighbouring elements of a patch's tap always make a pair: then products in bfloat16 are possible.
  var holdsPairs: Bool { channels % 2 == 0 && channelsPerChunk % 2 == 0 }

  /// The same places in another image of other pixels.
  func withInput(_ input: UnsafePointer<Float>, channels: Int) -> PatchGeometry {
    var copy = self
    copy.input = input
    copy.channels = channels
    return copy
  }

  /// Pixels of all input images, of which `rows` patches are taken.
  func pixelCount(rows: Int) -> Int { rows / max(1, outHeight * outWidth) * height * width }

  /// Writes the patches of some output pixels, `[rows, taps, channels of the chunk]`; zeros outside of the image.
  func gather(rows: Range<Int>, channels chunk: Range<Int>, into target: UnsafeMutablePointer<Float>) {
    var target = target
    for row in rows {
      let image = row / (outHeight * outWidth)
      let pixel = row % (outHeight * outWidth)
      let firstY = pixel / outWidth * options.stride - options.top
      let firstX = pixel % outWidth * options.stride - options.left
      for kernelY in 0..<kernelHeight {
        let y = firstY + kernelY
        for kernelX in 0..<kernelWidth {
          let x = firstX + kernelX
          if y >= 0, y < height, x >= 0, x < width {
            let source = input + ((image * height + y) * width + x) * channels + chunk.lowerBound
            copy(source, target, chunk.count)
          } else {
            target.update(repeating: 0, count: chunk.count)
          }
          target += chunk.count
        }
      }
    }
  }

  /// Rows of a panel from `[channels, taps]`, as weights lie in their file, to `[taps, channels]`.
  func reorderTaps(_ source: UnsafePointer<Float>, channels count: Int, into target: UnsafeMutablePointer<Float>) {
    for channel in 0..<count {
      for tap in 0..<tapCount {
        copy(source + (channel * tapCount + tap) * panelWidth, target + (tap * count + channel) * panelWidth, panelWidth)
      }
    }
  }
}

/// Copies floats; for stretches so short that a call of `memcpy` would show.
@inline(__always)
func copy(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<Float>, _ count: Int) {
  var index = 0
  while index + lanes <= count {
    store(load(source + index), target + index)
    index += lanes
  }
  while index < count {
    target[index] = source[index]
    index += 1
  }
}
