import Foundation
import Tensors

/// Makes the background of a picture transparent.
///
/// 1. The background's colour is the median of the border's pixels, in CIE L*a*b* (D65).
/// 2. Pixels whose distance from it (ΔE*, CIE 1976) is at most `tolerance` are background as far as the border reaches them
///    through neighbours that are (four-connected): a hole within the subject stays.
/// 3. Where that takes less than `least` or more than `most` of the picture there's no plain background, and the subject is taken
///    to be the superellipse |x|³ + |y|³ ≤ 1 that touches the border, so that the corners are transparent in any case.
/// 4. The mask is softened by a 3×3 mean, the border stays transparent; pixels that are all background get no colour.
struct BackgroundRemover {
  /// ΔE* up to which a colour is the background's.
  var tolerance: Float = 14
  /// Smallest share of a picture that's taken for a plain background.
  var least = 0.05
  /// Largest share.
  var most = 0.95

  /// The picture with alpha.
  ///
  /// - Precondition: It's RGB.
  func remove(from picture: Bitmap) -> Bitmap {
    precondition(picture.channels == 3)
    let (width, height) = (picture.width, picture.height)
    guard width > 0, height > 0 else { return Bitmap(width: width, height: height, channels: 4, samples: []) }
    var isBackground = grown(picture)
    let share = Double(isBackground.count { $0 }) / Double(width * height)
    if share < least || share > most { isBackground = outsideSuperellipse(width: width, height: height) }
    let alpha = softened(isBackground, width: width, height: height)
    var samples = [UInt8](repeating: 0, count: width * height * 4)
    for pixel in 0..<(width * height) where alpha[pixel] > 0 {
      for channel in 0..<3 { samples[pixel * 4 + channel] = picture.samples[pixel * 3 + channel] }
      samples[pixel * 4 + 3] = alpha[pixel]
    }
    return Bitmap(width: width, height: height, channels: 4, samples: samples)
  }

  private func grown(_ picture: Bitmap) -> [Bool] {
    let (width, height) = (picture.width, picture.height)
    let colors = (0..<(width * height)).map { pixel in
      LabColor(red: picture.samples[pixel * 3], green: picture.samples[pixel * 3 + 1], blue: picture.samples[pixel * 3 + 2])
    }
    let lastRow = (height - 1) * width
    var border: [Int] = []
    for column in 0..<width { border += [column, lastRow + column] }
    for row in 0..<height { border += [row * width, row * width + width - 1] }
    func median(_ values: [Float]) -> Float { values.sorted()[values.count / 2] }
    let background = LabColor(
      lightness: median(border.map { colors[$0].lightness }), a: median(border.map { colors[$0].a }),
      b: median(border.map { colors[$0].b }))
    var isBackground = [Bool](repeating: false, count: width * height)
    var front: [Int] = []
    func visit(_ pixel: Int) {
      guard !isBackground[pixel], colors[pixel].distance(to: background) <= tolerance else { return }
      isBackground[pixel] = true
      front.append(pixel)
    }
    for pixel in border { visit(pixel) }
    while let pixel = front.popLast() {
      let column = pixel % width
      if column > 0 { visit(pixel - 1) }
      if column < width - 1 { visit(pixel + 1) }
      if pixel >= width { visit(pixel - width) }
      if pixel < width * (height - 1) { visit(pixel + width) }
    }
    return isBackground
  }

  private func outsideSuperellipse(width: Int, height: Int) -> [Bool] {
    (0..<(width * height)).map { pixel in
      let x = abs((Double(pixel % width) + 0.5) * 2 / Double(width) - 1)
      let y = abs((Double(pixel / width) + 0.5) * 2 / Double(height) - 1)
      return x * x * x + y * y * y > 1
    }
  }

  private func softened(_ isBackground: [Bool], width: Int, height: Int) -> [UInt8] {
    var alpha = [UInt8](repeating: 0, count: width * height)
    guard width > 2, height > 2 else { return isBackground.map { $0 ? 0 : 255 } }
    for row in 1..<(height - 1) {
      for column in 1..<(width - 1) {
        var sum = 0
        for y in (row - 1)...(row + 1) {
          for x in (column - 1)...(column + 1) where !isBackground[y * width + x] { sum += 1 }
        }
        // What is background stays out; the subject's edge fades.
        alpha[row * width + column] = isBackground[row * width + column] ? 0 : UInt8(sum * 255 / 9)
      }
    }
    return alpha
  }
}

/// A colour in CIE L*a*b* (white D65) out of sRGB (IEC 61966-2-1).
struct LabColor {
  var lightness: Float
  var a: Float
  var b: Float

  init(lightness: Float, a: Float, b: Float) {
    self.lightness = lightness
    self.a = a
    self.b = b
  }

  init(red: UInt8, green: UInt8, blue: UInt8) {
    let (r, g, b) = (Self.linear[Int(red)], Self.linear[Int(green)], Self.linear[Int(blue)])
    let x = Self.root((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047)
    let y = Self.root(0.2126729 * r + 0.7151522 * g + 0.0721750 * b)
    let z = Self.root((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883)
    self.init(lightness: 116 * y - 16, a: 500 * (x - y), b: 200 * (y - z))
  }

  /// Euclidean, the ΔE* of 1976.
  func distance(to other: LabColor) -> Float {
    let (l, a, b) = (lightness - other.lightness, a - other.a, b - other.b)
    return (l * l + a * a + b * b).squareRoot()
  }

  private static let linear: [Float] = (0...255).map { value in
    let v = Double(value) / 255
    return Float(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4))
  }

  private static func root(_ t: Float) -> Float {
    let delta: Float = 6.0 / 29
    return t > delta * delta * delta ? cbrt(t) : t / (3 * delta * delta) + 4.0 / 29
  }
}
