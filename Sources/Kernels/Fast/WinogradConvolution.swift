internal import CPUFeatures
internal import KernelContract
internal import Tensors

/// A 3 × 3 convolution of stride 1 by Winograd's F(4 × 4, 3 × 3): 36 matrix products with a quarter of the multiplications.
///
/// The output is cut into tiles of 4 × 4 pixels, whose inputs of 6 × 6 pixels overlap. For each of the 36 positions p of a
/// transformed tile, `M[p] = V[p] · U[p]ᵀ`, where V are the transformed inputs, `[36, tiles, channels]`, U the transformed
/// filters and M, `[36, tiles, output channels]`, becomes the output. The work is done in passes of up to 128 tiles:
/// - all threads transform the inputs of the pass into V, which they share;
/// - each task then takes a panel of output channels: it transforms their filters for blocks of input channels, multiplies, and
///   transforms its part of M into the output. The last panels are cut by tiles, so that all threads end together.
/// Filters are transformed once a pass (0.3 ns per weight and position, against 2.6 ns of multiplications for 128 tiles), so that no
/// transformed copy of the weights, four times as large as the weights, is ever kept.
struct WinogradConvolution {
  var input: WinogradInput
  var channels: Int
  var images: Int
  var weight: WeightReader
  var options: ConvOptions
  var outHeight: Int
  var outWidth: Int
  /// `[images, outHeight, outWidth, epilogue.columns]`.
  var output: UnsafeMutablePointer<Float>
  var epilogue: Epilogue

  private static let positions = 36
  private static let tilesPerPass = 128
  /// Input channels whose filters are unpacked at a time.
  private static let filterBlock = 32
  /// Floats between two positions beyond their size, so that the 36 streams don't fall on the same cache sets.
  private static let skew = 16

  /// Whether this way is the faster one, judged by multiplications.
  static func pays(images: Int, outHeight: Int, outWidth: Int, channels: Int, outChannels: Int) -> Bool {
    guard channels >= 16 else { return false }
    let tiles = images * ((outHeight + 3) / 4) * ((outWidth + 3) / 4)
    // Both ways compute whole vectors of columns.
    let columns = (outChannels + lanes - 1) / lanes * lanes
    // The filter transform costs as much as 200 multiplications, the transforms of a tile as much as 36 · 5 per channel.
    let transformed = (tiles * 36 + 200) * channels * columns + tiles * 180 * (channels + columns)
    return transformed < images * outHeight * outWidth * 9 * channels * columns
  }

  /// Input channels of one block: blocks of nearly equal size, in whole vectors.
  private var depthBlock: Int {
    let tiles = images * tilesDown * tilesAcross
    // For a few tiles the transformed filters, read as often as there are blocks of 8 tiles, should stay in the L2 cache; for
    // many the sums, which are read and written once a block, weigh more.
    let largest = tiles <= 16 ? 64 : tiles <= 64 ? 160 : 320
    let count = (channels + largest - 1) / largest
    return ((channels + count - 1) / count + 7) / 8 * 8
  }

  private var tilesAcross: Int { (outWidth + 3) / 4 }
  private var tilesDown: Int { (outHeight + 3) / 4 }
  /// Floats of one tile's row of V: whole vectors.
  private var paddedChannels: Int { (channels + lanes - 1) / lanes * lanes }

  /// Computes the convolution.
  func run(on pool: WorkCrew) {
    let tileCount = images * tilesDown * tilesAcross
    let panels = (epilogue.columns + panelWidth - 1) / panelWidth
    let perPass = min(Self.tilesPerPass, tileCount)
    let plane = perPass * paddedChannels + Self.skew
    withPooledScratch(Self.positions * plane + paddedChannels) { transformed in
      let zeros = transformed + Self.positions * plane
      zeros.update(repeating: 0, count: paddedChannels)
      for first in stride(from: 0, to: tileCount, by: perPass) {
        let tiles = first..<min(tileCount, first + perPass)
        input.transform(
          tiles,
          of: WinogradInput.Tiles(
            across: tilesAcross, down: tilesDown, options: options, target: transformed, plane: plane, stride: paddedChannels,
            zeros: zeros),
          on: pool)
        let parts = ProductCuts(
          rows: tiles.count, panels: panels, threads: pool.threadCount, rowsPerChunk: tiles.count, panelsPerTask: 1,
          tileRows: tileRows
        ).parts()
        let layout = ScratchLayout(tiles: parts.reduce(0) { max($0, $1.rows.count) }, depthBlock: depthBlock)
        pool.parallelFor(parts.count, scratchBytes: layout.byteCount) { task, scratch in
          let rows = parts[task].rows
          multiply(
            tiles: (first + rows.lowerBound)..<(first + rows.upperBound), panel: parts[task].panels.lowerBound,
            transformed: transformed + rows.lowerBound * paddedChannels, plane: plane, layout: layout,
            scratch: scratch.assumingMemoryBound(to: Float.self))
        }
      }
    }
  }

  // MARK: - Products

  /// Where the parts of a task's scratch memory start, in floats.
  private struct ScratchLayout {
    /// Transformed filters, `[36][depth block, panelWidth]`.
    let filters = 0
    /// Floats of one position of filters.
    let filterPlane: Int
    /// M, `[36][tiles, panelWidth]`.
    let products: Int
    let productPlane: Int
    /// One panel of filters as they are, `[filter block · 9, panelWidth]`, or one vector of its columns.
    let natural: Int
    /// Rows of weights on their way into it; later the 36 vectors of a half transformed tile.
    let staging: Int
    let edge: Int
    let byteCount: Int

    init(tiles: Int, depthBlock: Int) {
      let natural = 9 * WinogradConvolution.filterBlock
      filterPlane = depthBlock * panelWidth + WinogradConvolution.skew
      productPlane = tiles * panelWidth + WinogradConvolution.skew
      products = WinogradConvolution.positions * filterPlane
      self.natural = products + WinogradConvolution.positions * productPlane
      staging = self.natural + natural * panelWidth
      edge = staging + max(8 * stagingStride(natural), 36 * lanes)
      byteCount = (edge + tileRows * panelWidth) * MemoryLayout<Float>.stride
    }
  }

  /// Multiplies and finishes some tiles of one panel; `transformed` is the row of V of the first of them.
  private func multiply(
    tiles: Range<Int>, panel: Int, transformed: UnsafePointer<Float>, plane: Int, layout: ScratchLayout,
    scratch: UnsafeMutablePointer<Float>
  ) {
    let firstColumn = panel * panelWidth
    let columnCount = min(epilogue.columns - firstColumn, panelWidth)
    for first in stride(from: 0, to: channels, by: depthBlock) {
      let depth = first..<min(channels, first + depthBlock)
      transformFilters(panel: panel, channels: depth, into: scratch + layout.filters, layout: layout, scratch: scratch)
      for position in 0..<Self.positions {
        multiplyRows(
          rows: tiles.count, columns: (columnCount + lanes - 1) / lanes * lanes, depth: depth.count,
          a: transformed + position * plane + first, aStride: paddedChannels,
          b: scratch + layout.filters + position * layout.filterPlane,
          c: scratch + layout.products + position * layout.productPlane, cStride: panelWidth, edge: scratch + layout.edge,
          accumulate: first > 0)
      }
    }
    for tile in tiles {
      transformOutputTile(
        tile, products: scratch + layout.products + (tile - tiles.lowerBound) * panelWidth, plane: layout.productPlane,
        firstColumn: firstColumn, columnCount: columnCount, half: scratch + layout.staging)
    }
  }

  /// Transforms the filters of one panel for a range of input channels: `target` is `[36][channels, panelWidth]`.
  private func transformFilters(
    panel: Int, channels range: Range<Int>, into target: UnsafeMutablePointer<Float>, layout: ScratchLayout,
    scratch: UnsafeMutablePointer<Float>
  ) {
    let rows = (panel * panelWidth)..<min(epilogue.columns, (panel + 1) * panelWidth)
    let natural = scratch + layout.natural
    for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.filterBlock) {
      let count = min(Self.filterBlock, range.upperBound - first)
      if !weight.packsGroups {
        packPanel(rowCount: rows.count, depth: 9 * count, panel: natural, staging: scratch + layout.staging) { row, target in
          weight.read(row: rows.lowerBound + row, from: 9 * first, count: 9 * count, into: target)
          weight.prefetch(row: rows.lowerBound + row, from: 9 * (first + count), count: 9 * count)
        }
      }
      for vector in 0..<((rows.count + lanes - 1) / lanes) {
        // Nine taps of a channel, row-major, `tapStride` floats apart.
        var taps = UnsafePointer(natural + vector * lanes)
        var tapStride = panelWidth
        if weight.packsGroups {
          let group = (rows.lowerBound + vector * lanes)..<min(rows.upperBound, rows.lowerBound + (vector + 1) * lanes)
          weight.packGroup(rows: group, from: 9 * first, count: 9 * count, into: natural, stride: lanes)
          weight.prefetch(rows: group, from: 9 * (first + count), count: 9 * count)
          taps = UnsafePointer(natural)
          tapStride = lanes
        }
        genbench_transform_filters(
          taps, tapStride, count, target + (first - range.lowerBound) * panelWidth + vector * lanes, panelWidth,
          layout.filterPlane)
      }
    }
  }

  // MARK: - Outputs

  /// Transforms one tile's products, adds biases and residual, and writes its pixels; convolutions have no activation.
  private func transformOutputTile(
    _ tile: Int, products: UnsafePointer<Float>, plane: Int, firstColumn: Int, columnCount: Int,
    half: UnsafeMutablePointer<Float>
  ) {
    let image = tile / (tilesDown * tilesAcross)
    let firstY = tile / tilesAcross % tilesDown * 4
    let firstX = tile % tilesAcross * 4
    let rowCount = min(4, outHeight - firstY)
    let pixelCount = min(4, outWidth - firstX)
    let columns = epilogue.columns
    let firstPixel = (image * outHeight + firstY) * outWidth + firstX
    var column = 0
    while column < columnCount {
      // Columns of the tile: 6 × 6 to 4 × 6, kept as `[6 columns][4 rows]`.
      for x in 0..<6 {
        let (y0, y1, y2, y3) = transformOutput(Six(at: products + x * plane + column, stride: 6 * plane))
        store(y0, half + x * lanes)
        store(y1, half + (6 + x) * lanes)
        store(y2, half + (12 + x) * lanes)
        store(y3, half + (18 + x) * lanes)
      }
      let count = min(lanes, columnCount - column)
      let first = firstColumn + column
      var offset = Vector()
      if let bias = epilogue.bias { offset = read(bias + first, count) }
      if let imageBias = epilogue.imageBias { offset += read(imageBias + image * columns + first, count) }
      for y in 0..<rowCount {
        let (x0, x1, x2, x3) = transformOutput(Six(at: half + y * 6 * lanes, stride: lanes))
        let place = (firstPixel + y * outWidth) * columns + first
        finish(x0 + offset, place, count)
        if pixelCount > 1 { finish(x1 + offset, place + columns, count) }
        if pixelCount > 2 { finish(x2 + offset, place + 2 * columns, count) }
        if pixelCount > 3 { finish(x3 + offset, place + 3 * columns, count) }
      }
      column += lanes
    }
  }

  /// Adds the residual and writes.
  @inline(__always)
  private func finish(_ vector: Vector, _ place: Int, _ count: Int) {
    var value = vector
    if let residual = epilogue.residual { value += read(residual + place, count) }
    if count == lanes { store(value, output + place) } else { storePartial(value, output + place, count) }
  }

  @inline(__always)
  private func read(_ pointer: UnsafePointer<Float>, _ count: Int) -> Vector {
    count == lanes ? load(pointer) : loadPartial(pointer, count)
  }
}
