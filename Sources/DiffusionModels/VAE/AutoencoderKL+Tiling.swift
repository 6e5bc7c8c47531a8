import Checkpoints
public import KernelContract
public import Tensors

/// How the VAE cuts latents that are too large to decode at once; the values of diffusers' `enable_tiling`.
public struct TilingOptions: Sendable, Hashable {
  /// Edge of a tile of latents.
  public var latentSize: Int
  /// Share of a tile that overlaps the next one, 0 to under 1.
  public var overlap: Double

  /// Makes options; diffusers' overlap is a quarter.
  public init(latentSize: Int, overlap: Double = 0.25) {
    self.latentSize = latentSize
    self.overlap = overlap
  }
}

extension AutoencoderKL {
  /// Decodes tile by tile, with scarce memory, and blends the overlaps linearly; equals diffusers' tiled decode.
  ///
  /// Latents that fit a tile are decoded whole.
  ///
  /// - Parameter latents: `[1, latentChannels, h, w]`, divided by the scaling factor already.
  /// - Returns: `[1, 3, H, W]`.
  /// - Throws: `CancelledError`.
  public func decodeTiled(_ latents: Tensor, tiling: TilingOptions, _ context: ExecutionContext) throws -> Tensor {
    let (height, width) = (latents.shape[2], latents.shape[3])
    guard height > tiling.latentSize || width > tiling.latentSize else {
      return try decode(latents, memory: .scarce, context)
    }
    let tileSize = tiling.latentSize * config.scaleFactor
    let stride = max(1, Int(Double(tiling.latentSize) * (1 - tiling.overlap)))
    let blend = Int(Double(tileSize) * tiling.overlap)
    let limit = tileSize - blend

    var result = Tensor(zeros: [1, config.outChannels, height * config.scaleFactor, width * config.scaleFactor])
    var above: [Tensor] = []
    for (rowIndex, row) in Swift.stride(from: 0, to: height, by: stride).enumerated() {
      var tiles: [Tensor] = []
      for (columnIndex, column) in Swift.stride(from: 0, to: width, by: stride).enumerated() {
        let crop = latents.cropped(
          rows: row..<min(row + tiling.latentSize, height), columns: column..<min(column + tiling.latentSize, width))
        var tile = try decode(crop, memory: .scarce, context)
        if rowIndex > 0 { tile.blendTop(with: above[columnIndex], extent: blend) }
        if columnIndex > 0 { tile.blendLeft(with: tiles[columnIndex - 1], extent: blend) }
        tiles.append(tile)
        result.paste(tile, top: rowIndex * limit, left: columnIndex * limit, maxHeight: limit, maxWidth: limit)
      }
      above = tiles
    }
    return result
  }
}

extension Tensor {
  /// A window of `[1, C, H, W]`.
  func cropped(rows: Range<Int>, columns: Range<Int>) -> Tensor {
    let (channels, height, width) = (shape[1], shape[2], shape[3])
    return Tensor(shape: [1, channels, rows.count, columns.count]) { target in
      withUnsafeBuffer { source in
        var index = 0
        for channel in 0..<channels {
          for row in rows {
            for column in columns {
              target.initializeElement(at: index, to: source[(channel * height + row) * width + column])
              index += 1
            }
          }
        }
      }
    }
  }

  /// Fades from the last rows of the tile above into the first rows of this one.
  fileprivate mutating func blendTop(with above: Tensor, extent: Int) {
    let (channels, height, width) = (shape[1], shape[2], shape[3])
    let (aboveHeight, aboveWidth) = (above.shape[2], above.shape[3])
    let rows = min(aboveHeight, height, extent)
    withUnsafeMutableBuffer { target in
      above.withUnsafeBuffer { source in
        for channel in 0..<channels {
          for row in 0..<rows {
            let share = Float(row) / Float(rows)
            for column in 0..<min(width, aboveWidth) {
              let index = (channel * height + row) * width + column
              let old = source[(channel * aboveHeight + aboveHeight - rows + row) * aboveWidth + column]
              target[index] = old * (1 - share) + target[index] * share
            }
          }
        }
      }
    }
  }

  /// Fades from the last columns of the tile to the left into the first columns of this one.
  fileprivate mutating func blendLeft(with left: Tensor, extent: Int) {
    let (channels, height, width) = (shape[1], shape[2], shape[3])
    let (leftHeight, leftWidth) = (left.shape[2], left.shape[3])
    let columns = min(leftWidth, width, extent)
    withUnsafeMutableBuffer { target in
      left.withUnsafeBuffer { source in
        for channel in 0..<channels {
          for row in 0..<min(height, leftHeight) {
            for column in 0..<columns {
              let share = Float(column) / Float(columns)
              let index = (channel * height + row) * width + column
              let old = source[(channel * leftHeight + row) * leftWidth + leftWidth - columns + column]
              target[index] = old * (1 - share) + target[index] * share
            }
          }
        }
      }
    }
  }

  /// Copies the upper left part of a tile to a place in this image, as far as both reach.
  fileprivate mutating func paste(_ tile: Tensor, top: Int, left: Int, maxHeight: Int, maxWidth: Int) {
    let (channels, height, width) = (shape[1], shape[2], shape[3])
    let rows = min(tile.shape[2], maxHeight, height - top)
    let columns = min(tile.shape[3], maxWidth, width - left)
    guard rows > 0, columns > 0 else { return }
    withUnsafeMutableBuffer { target in
      tile.withUnsafeBuffer { source in
        for channel in 0..<channels {
          for row in 0..<rows {
            for column in 0..<columns {
              target[(channel * height + top + row) * width + left + column] =
                source[(channel * tile.shape[2] + row) * tile.shape[3] + column]
            }
          }
        }
      }
    }
  }
}
