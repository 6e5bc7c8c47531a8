internal import KernelContract

/// The map that a Winograd convolution reads, and the transform of its tiles.
///
/// The map may be normalised, activated and enlarged on the way, so that it never stands in memory itself. Normalised pixels are
/// computed for a run of neighbouring tiles and 32 channels at a time (26 KB: the L1 cache) and transformed from there; tiles
/// overlap by two pixels, so each pixel is computed about 1.6 times, which is cheaper than to write and read the whole map.
struct WinogradInput {
  /// `[images, height, width, channels]`; half as high and wide when the map is enlarged.
  let base: UnsafePointer<Float>
  /// Rows of the map.
  let height: Int
  /// Columns of the map.
  let width: Int
  let channels: Int
  /// Center, scale and shift, `[images, 3, channels]`; nil for a map that is read as it is.
  let factors: UnsafePointer<Float>?
  /// Applied after the factors; `.none` without them.
  let activation: Activation
  /// Whether each pixel stands for 2 × 2 pixels of the map.
  let enlarges: Bool

  /// Tiles that are staged together.
  private static let runLength = 8
  /// Channels that are staged together.
  private static let chunk = 32
  /// Bytes of 36 vectors: a half transformed tile.
  private static let halfBytes = 36 * lanes * MemoryLayout<Float>.stride

  /// Where the tiles of a convolution lie, and where their transforms go.
  struct Tiles {
    let across: Int
    let down: Int
    let options: ConvOptions
    /// V, `[36, tiles, stride]`, for the tiles of one pass.
    let target: UnsafeMutablePointer<Float>
    /// Floats between two positions of V.
    let plane: Int
    /// Floats between two tiles of V: the channels in whole vectors.
    let stride: Int
    /// As many zeros as there are channels.
    let zeros: UnsafePointer<Float>

    /// Image, and the upper left pixel of the input, of a tile.
    func origin(_ tile: Int) -> (image: Int, y: Int, x: Int) {
      (tile / (down * across), tile / across % down * 4 - options.top, tile % across * 4 - options.left)
    }
  }

  /// Transforms the tiles of one pass; the first one becomes the first row of V.
  func transform(_ range: Range<Int>, of tiles: Tiles, on pool: WorkCrew) {
    if let factors {
      transformNormalized(range, of: tiles, factors: factors, on: pool)
    } else {
      let bytes = Self.halfBytes + 36 * MemoryLayout<UnsafePointer<Float>>.stride
      pool.parallelRanges(range.count, grain: max(1, 1024 / channels), scratchBytes: bytes) { part, scratch in
        for index in part { transformTile(range.lowerBound + index, of: tiles, row: index, scratch: scratch) }
      }
    }
  }

  /// The pixel of the map at a place, nil outside of it.
  @inline(__always)
  private func pixel(_ image: Int, _ y: Int, _ x: Int) -> UnsafePointer<Float>? {
    guard y >= 0, y < height, x >= 0, x < width else { return nil }
    return enlarges
      ? base + ((image * (height / 2) + y / 2) * (width / 2) + x / 2) * channels
      : base + ((image * height + y) * width + x) * channels
  }

  // MARK: - As it is

  /// Transforms the 6 × 6 input pixels of one tile into a row of V.
  private func transformTile(_ tile: Int, of tiles: Tiles, row target: Int, scratch: UnsafeMutableRawPointer) {
    let half = scratch.assumingMemoryBound(to: Float.self)
    let pixels = (scratch + Self.halfBytes).assumingMemoryBound(to: UnsafePointer<Float>.self)
    let (image, firstY, firstX) = tiles.origin(tile)
    for row in 0..<6 {
      for column in 0..<6 { pixels[row * 6 + column] = pixel(image, firstY + row, firstX + column) ?? tiles.zeros }
    }
    var channel = 0
    while channel < channels {
      let count = channels - channel
      for column in 0..<6 {
        @inline(__always) func pixel(_ row: Int) -> Vector {
          let pointer = pixels[row * 6 + column] + channel
          return count >= lanes ? load(pointer) : loadPartial(pointer, count)
        }
        transformInput(Six(pixel(0), pixel(1), pixel(2), pixel(3), pixel(4), pixel(5)))
          .write(to: half + column * lanes, stride: 6 * lanes)
      }
      transformRows(half, into: tiles.target + target * tiles.stride + channel, plane: tiles.plane)
      channel += lanes
    }
  }

  /// The second half of a tile's transform.
  @inline(__always)
  private func transformRows(_ half: UnsafePointer<Float>, into target: UnsafeMutablePointer<Float>, plane: Int) {
    for row in 0..<6 {
      transformInput(Six(at: half + row * 6 * lanes, stride: lanes)).write(to: target + row * 6 * plane, stride: plane)
    }
  }

  // MARK: - Normalised

  private func transformNormalized(
    _ range: Range<Int>, of tiles: Tiles, factors: UnsafePointer<Float>, on pool: WorkCrew
  ) {
    let runs = Self.runs(range, across: tiles.across)
    let chunks = (channels + Self.chunk - 1) / Self.chunk
    let widest = (4 * Self.runLength + 2) * 6 * Self.chunk
    pool.parallelFor(runs.count * chunks, scratchBytes: Self.halfBytes + widest * MemoryLayout<Float>.stride) { task, scratch in
      let half = scratch.assumingMemoryBound(to: Float.self)
      let staged = (scratch + Self.halfBytes).assumingMemoryBound(to: Float.self)
      let run = runs[task / chunks]
      let first = task % chunks * Self.chunk
      let count = min(Self.chunk, channels - first)
      stage(run, of: tiles, channels: first..<(first + count), factors: factors, into: staged)
      let stride = (4 * run.count + 2) * Self.chunk
      for tile in run {
        for vector in Swift.stride(from: 0, to: count, by: lanes) {
          let corner = staged + (tile - run.lowerBound) * 4 * Self.chunk + vector
          for column in 0..<6 {
            transformInput(Six(at: corner + column * Self.chunk, stride: stride))
              .write(to: half + column * lanes, stride: 6 * lanes)
          }
          let row = tiles.target + (tile - range.lowerBound) * tiles.stride + first + vector
          transformRows(half, into: row, plane: tiles.plane)
        }
      }
    }
  }

  /// The tiles cut into runs that don't leave their row of tiles.
  private static func runs(_ range: Range<Int>, across: Int) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var first = range.lowerBound
    while first < range.upperBound {
      let end = min(range.upperBound, first + runLength, (first / across + 1) * across)
      runs.append(first..<end)
      first = end
    }
    return runs
  }

  /// Computes the normalised pixels below a run of tiles, `[6, 4 · tiles + 2, chunk]`, zeros outside of the map.
  private func stage(
    _ run: Range<Int>, of tiles: Tiles, channels range: Range<Int>, factors: UnsafePointer<Float>,
    into target: UnsafeMutablePointer<Float>
  ) {
    let (image, firstY, firstX) = tiles.origin(run.lowerBound)
    let columns = 4 * run.count + 2
    let center = factors + image * 3 * channels + range.lowerBound
    @inline(__always) func fill(_ activate: (Vector) -> Vector) {
      for row in 0..<6 {
        for column in 0..<columns {
          let place = target + (row * columns + column) * Self.chunk
          guard let source = pixel(image, firstY + row, firstX + column) else {
            place.update(repeating: 0, count: Self.chunk)
            continue
          }
          var index = 0
          while index < range.count {
            let count = range.count - index
            @inline(__always) func read(_ pointer: UnsafePointer<Float>) -> Vector {
              count >= lanes ? load(pointer) : loadPartial(pointer, count)
            }
            let centered = read(source + range.lowerBound + index) - read(center + index)
            let shift = read(center + 2 * channels + index)
            store(activate(multiplyAdd(shift, centered, read(center + channels + index))), place + index)
            index += lanes
          }
        }
      }
    }
    switch activation {
    case .none: fill { $0 }
    case .silu: fill { activated(.silu, $0) }
    default: fill { activated(activation, $0) }
    }
  }
}
