import Foundation
import Imaging
import Tensors

/// Pictures that checks give to implementations.
enum TestImages {
  /// Left half one colour, right half another.
  static func halves(width: Int, height: Int, left: [UInt8] = [250, 20, 20], right: [UInt8] = [20, 20, 250]) -> Bitmap {
    var line: [UInt8] = []
    for column in 0..<width { line += column < width / 2 ? left : right }
    return Bitmap(width: width, height: height, samples: Array(repeating: line, count: height).flatMap { $0 })
  }

  /// Black on the left, white on the right.
  static func mask(side: Int) -> Bitmap { halves(width: side, height: side, left: [0, 0, 0], right: [255, 255, 255]) }

  /// A square of one colour on a ground of another, its upper left corner at (`at`, `at`); all in pixels.
  static func square(side: Int, at: Int, of size: Int, _ colour: [UInt8], ground: [UInt8]) -> Bitmap {
    var samples: [UInt8] = []
    for row in 0..<side {
      for column in 0..<side {
        samples += (at..<(at + size)).contains(row) && (at..<(at + size)).contains(column) ? colour : ground
      }
    }
    return Bitmap(width: side, height: side, samples: samples)
  }

  /// A file of it.
  static func png(_ bitmap: Bitmap) throws -> Data { Data(try PNGFile.encode(bitmap)) }
}

extension Bitmap {
  /// Whether one of the colour channels has the same value everywhere.
  var isConstant: Bool {
    guard let pixelCount = samples.isEmpty ? nil : samples.count / channels, pixelCount > 0 else { return true }
    return (0..<min(channels, 3)).contains { channel in
      let first = samples[channel]
      return stride(from: channel, to: samples.count, by: channels).allSatisfy { samples[$0] == first }
    }
  }

  /// Whether every pixel is the same.
  var isOneColour: Bool {
    (0..<channels).allSatisfy { channel in
      stride(from: channel, to: samples.count, by: channels).allSatisfy { samples[$0] == samples[channel] }
    }
  }

  /// The standard deviation of the samples.
  var deviation: Double {
    guard !samples.isEmpty else { return 0 }
    var (sum, squares) = (0.0, 0.0)
    for sample in samples {
      sum += Double(sample)
      squares += Double(sample) * Double(sample)
    }
    let mean = sum / Double(samples.count)
    return max(0, squares / Double(samples.count) - mean * mean).squareRoot()
  }
}
