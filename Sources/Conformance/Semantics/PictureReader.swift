import Imaging
public import Tensors

/// What is in a picture of plain shapes on a plain ground.
public struct PictureContents: Sendable, Hashable {
  /// A shape.
  public struct Shape: Sendable, Hashable {
    /// Its outline; nil when it is none of the known ones.
    public var kind: ShapeKind?
    /// Its colour.
    public var colour: ColourName
    /// The middle of its bounding box, from the left, 0...1.
    public var x: Double
    /// The middle of its bounding box, from the top, 0...1.
    public var y: Double
    /// The part of the picture that it covers, holes filled, 0...1.
    public var area: Double
  }
  /// The colour of the ground.
  public var ground: ColourName
  /// The shapes, the largest first.
  public var shapes: [Shape]

  /// The same in words: `a red circle on a blue background`.
  public var sentence: String {
    let nouns = shapes.map { "a \($0.colour.rawValue) \($0.kind?.rawValue ?? "shape")" }
    return "\(nouns.isEmpty ? "nothing" : nouns.joined(separator: " and ")) on a \(ground.rawValue) background"
  }
}

/// Reads colours, shapes, places and numbers from pictures, by counting pixels alone.
///
/// The ground is the median colour of the border. What differs from it and hangs together is a shape; its colour is the median
/// of its inner pixels. Pictures are reduced to 128 pixels a side first.
public enum PictureReader {
  /// The longer side that pictures are reduced to.
  static let side = 128
  /// A sample that differs by more from the ground belongs to a shape.
  static let difference = 56

  /// Reads a picture; one without pixels is an empty black ground.
  public static func read(_ picture: Bitmap) -> PictureContents {
    guard picture.width > 0, picture.height > 0 else { return PictureContents(ground: .black, shapes: []) }
    let image = reduced(picture.rgbOnWhite())
    let ground = median(of: border(of: image), in: image)
    var mask = differing(image, from: ground, by: difference)
    if mask.count(where: { $0 }) * 100 < mask.count { mask = differing(image, from: ground, by: difference / 2) }
    var shapes: [PictureContents.Shape] = []
    for region in Region.all(of: mask, width: image.width, height: image.height) {
      let filled = region.filled
      let area = Double(filled.pixels.count) / Double(mask.count)
      guard area >= 0.004 else { continue }
      let inner = region.eroded(times: 2)
      let colour = median(of: inner.pixels.count > 8 ? inner.pixels : region.pixels, in: image)
      let x = Double(filled.columns.lowerBound + filled.columns.upperBound + 1) / Double(2 * image.width)
      let y = Double(filled.rows.lowerBound + filled.rows.upperBound + 1) / Double(2 * image.height)
      let name = ColourName(red: colour[0], green: colour[1], blue: colour[2])
      shapes.append(PictureContents.Shape(kind: ShapeKind(of: region), colour: name, x: x, y: y, area: area))
    }
    shapes.sort { $0.area > $1.area }
    return PictureContents(ground: ColourName(red: ground[0], green: ground[1], blue: ground[2]), shapes: shapes)
  }

  private static func reduced(_ picture: Bitmap) -> Bitmap {
    let longer = max(picture.width, picture.height)
    guard longer > side else { return picture }
    return Resample.resize(
      picture, width: max(1, picture.width * side / longer), height: max(1, picture.height * side / longer), filter: .bilinear)
  }

  private static func border(of image: Bitmap) -> [Int] {
    let band = max(1, min(image.width, image.height) / 32)
    return (0..<(image.width * image.height)).filter { pixel -> Bool in
      let (row, column) = (pixel / image.width, pixel % image.width)
      return row < band || column < band || row >= image.height - band || column >= image.width - band
    }
  }

  private static func median(of pixels: [Int], in image: Bitmap) -> [Double] {
    (0..<3).map { channel in
      let values = pixels.map { image.samples[$0 * 3 + channel] }.sorted()
      return values.isEmpty ? 0 : Double(values[values.count / 2])
    }
  }

  private static func differing(_ image: Bitmap, from ground: [Double], by limit: Int) -> [Bool] {
    let wanted = ground.map { Int($0) }
    return (0..<(image.width * image.height)).map { pixel -> Bool in
      for channel in 0..<3 {
        let sample = Int(image.samples[pixel * 3 + channel])
        if abs(sample - wanted[channel]) > limit { return true }
      }
      return false
    }
  }
}
