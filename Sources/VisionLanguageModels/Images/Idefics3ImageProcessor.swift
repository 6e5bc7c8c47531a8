import Imaging
import Tensors

/// Cuts an image into square tiles and a global view.
///
/// Equals transformers' `Idefics3ImageProcessorPil`: the image is enlarged or reduced to the longest edge, then to whole
/// tiles (each time through Lanczos and rounded to 8 bits), cut row by row, and the global view is made of the enlarged image.
struct Idefics3ImageProcessor {
  /// The size that no side exceeds.
  private static let largestSide = 4096

  private let config: VisionConfig

  init(_ config: VisionConfig) { self.config = config }

  func preprocess(_ bitmap: Bitmap) throws(VisionLanguageError) -> PreprocessedImage {
    let rgb = try PixelNormalization.rgb(bitmap)
    let first = Self.longestEdgeSize(width: rgb.width, height: rgb.height, edge: config.longestEdge)
    let enlarged = Resample.resize(rgb, width: first.width, height: first.height, filter: .lanczos)
    let tile = config.imageSize
    let second = Self.wholeTiles(width: first.width, height: first.height, tile: tile)
    let whole = Resample.resize(enlarged, width: second.width, height: second.height, filter: .lanczos)
    guard second.width > tile || second.height > tile else {
      return PreprocessedImage(pixels: normalised([whole]), rows: 0, columns: 0)
    }
    let (rows, columns) = (second.height / tile, second.width / tile)
    var tiles = (0..<(rows * columns)).map { index in
      whole.cropped(x: index % columns * tile, y: index / columns * tile, width: tile, height: tile)
    }
    tiles.append(Resample.resize(whole, width: tile, height: tile, filter: .lanczos))
    return PreprocessedImage(pixels: normalised(tiles), rows: rows, columns: columns)
  }

  /// The size whose longer side is `edge`; the other is rounded down, then up to an even number.
  static func longestEdgeSize(width: Int, height: Int, edge: Int) -> (width: Int, height: Int) {
    let aspect = Double(width) / Double(height)
    var (newWidth, newHeight) = (edge, edge)
    if width >= height {
      newHeight = Int(Double(edge) / aspect)
      newHeight += newHeight % 2
    } else {
      newWidth = Int(Double(edge) * aspect)
      newWidth += newWidth % 2
    }
    newWidth = max(newWidth, 1)
    newHeight = max(newHeight, 1)
    let newAspect = Double(newWidth) / Double(newHeight)
    if newWidth >= newHeight, newWidth > largestSide {
      newWidth = largestSide
      newHeight = Int(Double(newWidth) / newAspect)
    } else if newHeight > newWidth, newHeight > largestSide {
      newHeight = largestSide
      newWidth = Int(Double(newHeight) * newAspect)
    }
    return (max(newWidth, 1), max(newHeight, 1))
  }

  /// The size rounded up to whole tiles: first the longer side, then the other at the same aspect.
  static func wholeTiles(width: Int, height: Int, tile: Int) -> (width: Int, height: Int) {
    func roundedUp(_ side: Int) -> Int { (side + tile - 1) / tile * tile }
    let aspect = Double(width) / Double(height)
    if width >= height {
      let newWidth = roundedUp(width)
      return (newWidth, max(roundedUp(Int(Double(newWidth) / aspect)), tile))
    }
    let newHeight = roundedUp(height)
    return (max(roundedUp(Int(Double(newHeight) * aspect)), tile), newHeight)
  }

  private func normalised(_ tiles: [Bitmap]) -> Tensor {
    let (tile, normalization) = (config.imageSize, PixelNormalization(config))
    return Tensor(shape: [tiles.count, 3, tile, tile]) { target in
      for (index, bitmap) in tiles.enumerated() {
        for pixel in 0..<(tile * tile) {
          for channel in 0..<3 {
            target.initializeElement(
              at: (index * 3 + channel) * tile * tile + pixel,
              to: normalization.value(bitmap.samples[pixel * 3 + channel], channel: channel))
          }
        }
      }
    }
  }
}
