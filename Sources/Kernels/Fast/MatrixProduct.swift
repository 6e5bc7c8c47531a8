internal import KernelContract
internal import Tensors

/// The left operand of a matrix product: rows that lie in memory, or image patches that are gathered block by block.
enum RowSource {
  /// `[rows, depth]`, rows `stride` floats apart.
  case matrix(UnsafePointer<Float>, stride: Int)
  /// The patches of a convolution; the depth runs over chunks of input channels, in a chunk over taps, then channels.
  case patches(PatchGeometry)
}

/// `C = A · Wᵀ` with its epilogue, blocked for the caches and cut into tasks for the threads.
///
/// The blocking, from the outside in:
/// - a task computes `rowsPerTask` rows × `panelsPerTask` panels of C;
/// - for each block of the depth (about 320) the task converts and packs its weights, at most 256 columns, into panels
///   (`[depth block, panelWidth]` each, 320 KB in all: the L2 cache);
/// - for each block of 96 rows of A (L2) and each panel (20 KB: L1), register tiles run down the rows.
///
/// With `usesPairs` both factors are rounded to bfloat16 and multiplied in pairs of depth; the panels are half as large then.
///
/// A is used where it lies; only patches are gathered, one block at a time. Partial sums over the depth stand in C. The cuts
/// of the depth depend on the shape alone, so every element is summed in the same order for any number of threads.
struct MatrixProduct {
  var source: RowSource
  var weight: WeightReader
  var rows: Int
  var depth: Int
  var columns: Int
  var output: UnsafeMutablePointer<Float>
  var epilogue: Epilogue
  /// Whether the factors are bfloat16; only in the instruction set that has it.
  var usesPairs = false

  static let rowBlock = 96
  static let maxPanelsPerTask = max(1, 256 / panelWidth)

  // MARK: - Cutting

  /// Elements of depth that one block holds, and how many blocks there are.
  private var depthBlocks: (count: Int, size: Int) {
    switch source {
    case .matrix:
      let count = max(1, (depth + 383) / 384)
      return (count, ((depth + count - 1) / count + 7) / 8 * 8)
    case .patches(let geometry):
      let chunks = (geometry.channels + geometry.channelsPerChunk - 1) / geometry.channelsPerChunk
      return (chunks, geometry.channelsPerChunk * geometry.tapCount)
    }
  }

  /// How many tasks in each direction.
  private func grid(threads: Int) -> (rowTasks: Int, columnTasks: Int) {
    let panels = (columns + panelWidth - 1) / panelWidth
    var columnTasks = (panels + Self.maxPanelsPerTask - 1) / Self.maxPanelsPerTask
    var rowTasks = max(1, rows / 2048)
    guard threads > 1 else { return (rowTasks, columnTasks) }
    while rowTasks * columnTasks < 4 * threads {
      // Another row task packs the weights once more; another column task reads A once more.
      if rows / (rowTasks + 1) >= 4 * Self.rowBlock {
        rowTasks += 1
      } else if panels / (columnTasks + 1) >= 2 {
        columnTasks += 1
      } else {
        break
      }
    }
    return (rowTasks, columnTasks)
  }

  /// Computes C.
  func run(on pool: WorkCrew) {
    guard rows > 0, columns > 0 else { return }
    let (rowTasks, columnTasks) = grid(threads: pool.threadCount)
    let panels = (columns + panelWidth - 1) / panelWidth
    let panelsPerTask = (panels + columnTasks - 1) / columnTasks
    let blocksOfRows = (rows + tileRows - 1) / tileRows
    let rowsPerTask = (blocksOfRows + rowTasks - 1) / rowTasks * tileRows
    let blockSize = depthBlocks.size
    let layout = ScratchLayout(
      panels: panelsPerTask, blockSize: blockSize, gathersPatches: gathersPatches, usesPairs: usesPairs)
    pool.parallelFor(rowTasks * columnTasks, scratchBytes: layout.byteCount) { task, scratch in
      let firstRow = task / columnTasks * rowsPerTask
      let firstPanel = task % columnTasks * panelsPerTask
      let rowRange = min(rows, firstRow)..<min(rows, firstRow + rowsPerTask)
      let panelRange = min(panels, firstPanel)..<min(panels, firstPanel + panelsPerTask)
      guard !rowRange.isEmpty, !panelRange.isEmpty else { return }
      runTask(rows: rowRange, panels: panelRange, layout: layout, scratch: scratch.assumingMemoryBound(to: Float.self))
    }
  }

  private var gathersPatches: Bool {
    if case .patches = source { true } else { false }
  }

  /// Where the parts of a task's scratch memory start, in floats.
  private struct ScratchLayout {
    /// Packed panels, `[panels, depth block, panelWidth]`.
    let packed = 0
    /// Eight rows of weights on their way into a panel; behind them, for patches, a panel whose taps aren't in order yet.
    let staging: Int
    /// Gathered patches, `[rowBlock, depth block]`.
    let patches: Int
    /// Rows of A in bfloat16, `[rowBlock, depth block]`, and a panel in floats.
    let pairs: Int
    let floatPanel: Int
    /// One tile that hangs over the right edge of C.
    let edge: Int
    let byteCount: Int

    init(panels: Int, blockSize: Int, gathersPatches: Bool, usesPairs: Bool) {
      let pairCount = (blockSize + 1) / 2
      staging = panels * (usesPairs ? pairCount : blockSize) * panelWidth
      patches = staging + 8 * stagingStride(blockSize) + (gathersPatches ? blockSize * panelWidth : 0)
      pairs = patches + (gathersPatches ? MatrixProduct.rowBlock * blockSize : 0)
      floatPanel = pairs + (usesPairs ? MatrixProduct.rowBlock * pairCount : 0)
      edge = floatPanel + (usesPairs ? (blockSize + 1) * panelWidth : 0)
      byteCount = (edge + tileRows * panelWidth) * MemoryLayout<Float>.stride
    }
  }

  // MARK: - One task

  private func runTask(rows: Range<Int>, panels: Range<Int>, layout: ScratchLayout, scratch: UnsafeMutablePointer<Float>) {
    let (blockCount, blockSize) = depthBlocks
    for block in 0..<blockCount {
      let depthRange = (block * blockSize)..<min(depth, (block + 1) * blockSize)
      let panelFloats = (usesPairs ? (depthRange.count + 1) / 2 : depthRange.count) * panelWidth
      for panel in panels {
        let packed = scratch + layout.packed + (panel - panels.lowerBound) * panelFloats
        let floats = usesPairs ? scratch + layout.floatPanel : packed
        pack(panel: panel, block: block, depthRange: depthRange, into: floats, staging: scratch + layout.staging)
        #if GENBENCH_ISA_V4BF16
          if usesPairs { interleavePairs(floats, depth: depthRange.count, into: packed) }
        #endif
      }
      for firstRow in stride(from: rows.lowerBound, to: rows.upperBound, by: Self.rowBlock) {
        let rowRange = firstRow..<min(rows.upperBound, firstRow + Self.rowBlock)
        let (a, aStride) = leftRows(rowRange, block: block, depthRange: depthRange, patches: scratch + layout.patches)
        #if GENBENCH_ISA_V4BF16
          if usesPairs {
            roundRows(a, stride: aStride, rows: rowRange.count, depth: depthRange.count, into: scratch + layout.pairs)
          }
        #endif
        for panel in panels {
          multiplyPanel(
            rows: rowRange, panel: panel, a: a, aStride: aStride, depth: depthRange.count,
            b: scratch + layout.packed + (panel - panels.lowerBound) * panelFloats, pairs: scratch + layout.pairs,
            edge: scratch + layout.edge, accumulate: block > 0)
        }
        if block == blockCount - 1, !epilogue.isIdentity {
          let first = panels.lowerBound * panelWidth
          let count = min(columns, panels.upperBound * panelWidth) - first
          for row in rowRange { epilogue.finish(output + row * columns + first, row: row, first: first, count: count) }
        }
      }
    }
  }

  private func pack(
    panel: Int, block: Int, depthRange: Range<Int>, into target: UnsafeMutablePointer<Float>,
    staging: UnsafeMutablePointer<Float>
  ) {
    let first = panel * panelWidth
    let count = min(panelWidth, columns - first)
    switch source {
    case .matrix:
      packPanel(rowCount: count, depth: depthRange.count, panel: target, staging: staging) { row, target in
        weight.read(row: first + row, from: depthRange.lowerBound, count: depthRange.count, into: target)
      }
    case .patches(let geometry):
      let natural = staging + 8 * stagingStride(depthRange.count)
      packPanel(rowCount: count, depth: depthRange.count, panel: natural, staging: staging) { row, target in
        weight.read(row: first + row, from: depthRange.lowerBound, count: depthRange.count, into: target)
      }
      geometry.reorderTaps(natural, channels: depthRange.count / geometry.tapCount, into: target)
    }
  }

  private func leftRows(
    _ rows: Range<Int>, block: Int, depthRange: Range<Int>, patches: UnsafeMutablePointer<Float>
  ) -> (UnsafePointer<Float>, Int) {
    switch source {
    case .matrix(let base, let stride):
      return (base + rows.lowerBound * stride + depthRange.lowerBound, stride)
    case .patches(let geometry):
      let channels = depthRange.count / geometry.tapCount
      geometry.gather(
        rows: rows, channels: (block * geometry.channelsPerChunk)..<(block * geometry.channelsPerChunk + channels), into: patches)
      return (UnsafePointer(patches), depthRange.count)
    }
  }

  /// Runs the register tiles down one panel.
  private func multiplyPanel(
    rows: Range<Int>, panel: Int, a: UnsafePointer<Float>, aStride: Int, depth: Int, b: UnsafePointer<Float>,
    pairs: UnsafePointer<Float>, edge: UnsafeMutablePointer<Float>, accumulate: Bool
  ) {
    let first = panel * panelWidth
    let target = output + rows.lowerBound * columns + first
    #if GENBENCH_ISA_V4BF16
      if usesPairs {
        multiplyPairRows(
          rows: rows.count, columns: min(panelWidth, columns - first), pairCount: (depth + 1) / 2, a: pairs, b: b, c: target,
          cStride: columns, edge: edge, accumulate: accumulate)
        return
      }
    #endif
    multiplyRows(
      rows: rows.count, columns: min(panelWidth, columns - first), depth: depth, a: a, aStride: aStride, b: b, c: target,
      cStride: columns, edge: edge, accumulate: accumulate)
  }
}
