import Conformance
import Imaging
package import Tensors

/// The pictures of a scripted engine: coloured squares that depend on everything that an image depends on.
package enum ScriptedImage {
  /// A checkerboard of colours out of a seed.
  package static func pattern(seed: UInt64, width: Int, height: Int) -> Bitmap {
    var state = seed
    let cells = 16
    let rowsOfCells = (0..<cells).map { _ in (0..<cells).map { _ in SplitMix.next(&state) } }
    var samples: [UInt8] = []
    samples.reserveCapacity(width * height * 3)
    var row = 0
    for (index, colours) in rowsOfCells.enumerated() {
      var line: [UInt8] = []
      line.reserveCapacity(width * 3)
      for (column, colour) in colours.enumerated() {
        let pixel = [
          UInt8(truncatingIfNeeded: colour), UInt8(truncatingIfNeeded: colour >> 8), UInt8(truncatingIfNeeded: colour >> 16),
        ]
        for _ in (column * width / cells)..<((column + 1) * width / cells) { line += pixel }
      }
      while row < (index + 1) * height / cells {
        samples += line
        row += 1
      }
    }
    return Bitmap(width: width, height: height, samples: samples)
  }

  /// A start image under a pattern: `strength` of the pattern, the rest of the image; black parts of the mask are kept.
  static func repaint(_ image: Tensor, mask: Tensor?, strength: Double, pattern: Bitmap) -> Bitmap {
    let (width, height) = (pattern.width, pattern.height)
    let start = resized(image, width: width, height: height)
    let maskBitmap = mask.map { resized($0, width: width, height: height) }
    let weight = Int(strength * 256)
    var output = pattern
    output.samples.withUnsafeMutableBufferPointer { target in
      for pixel in 0..<(width * height) {
        let isKept = maskBitmap.map { $0.samples[pixel] < 128 } ?? false
        for index in (pixel * 3)..<(pixel * 3 + 3) {
          let old = Int(start.samples[index])
          target[index] = isKept ? UInt8(old) : UInt8((Int(target[index]) * weight + old * (256 - weight)) / 256)
        }
      }
    }
    return output
  }

  private static func resized(_ tensor: Tensor, width: Int, height: Int) -> Bitmap {
    let bitmap = Bitmap(unitValues: tensor)
    guard bitmap.width != width || bitmap.height != height else { return bitmap }
    return Resample.resize(bitmap, width: width, height: height, filter: .bilinear)
  }

  /// FNV-1a of texts.
  static func hash(_ parts: [String]) -> UInt64 {
    var value: UInt64 = 0xcbf2_9ce4_8422_2325
    for part in parts {
      for byte in part.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
      value = (value ^ 0x1f) &* 0x100_0000_01b3
    }
    return value
  }
}
