internal import KernelContract
internal import Tensors

/// The left operand of a matrix product: rows that lie in memory, or image patches that are gathered block by block.
enum RowSource {
  /// `[rows, depth]`, rows `stride` floats apart.
  case matrix(UnsafePointer<Float>, stride: Int)
  /// The patches of a convolution; the depth runs over chunks of input channels, in a chunk over taps, then channels.
  case patches(PatchGeometry)
}

/// `C = A · Wᵀ` with its epilogue, or `C = activation(A · Gᵀ) ⊙ (A · Wᵀ)` with a gate G, blocked for the caches and cut into
/// tasks for the threads.
///
/// The blocking, from the outside in:
/// - a task computes some rows × some panels of C (``ProductCuts``);
/// - for each block of the depth (about 320) the task converts and packs its weights, at most 256 columns, into panels
///   (`[depth block, panelWidth]` each, 320 KB in all: the L2 cache);
/// - for each block of 96 rows of A (L2) and each panel (20 KB: L1), register tiles run down the rows.
///
/// With `usesPairs` both factors are rounded to bfloat16 and multiplied in pairs of depth: A once, beforehand, and the panels
/// as they are packed.
///
/// A is used where it lies; only patches are gathered, one block at a time. Partial sums over the depth stand in C, those of
/// the gate in scratch memory. The cuts of the depth depend on the shape alone, so every element is summed in the same order
/// for any number of threads.
struct MatrixProduct {
  /// The second factor of a gated product.
  struct Gate {
    var weight: WeightReader
    var bias: UnsafePointer<Float>?
    var activation: Activation
  }

  var source: RowSource
  var weight: WeightReader
  var rows: Int
  var depth: Int
  var columns: Int
  var output: UnsafeMutablePointer<Float>
  var epilogue: Epilogue
  var gate: Gate?
  /// Whether the factors are bfloat16; only in the instruction set that has it, and where ``PatchGeometry/holdsPairs``.
  var usesPairs = false
  /// A in bfloat16: `[rows, (depth + 1) / 2, 2]`, or the image as `[pixels, channels / 2, 2]`.
  var roundedSource: UnsafePointer<Float>?

  static let rowBlock = 96
  static let maxPanelsPerTask = max(1, 256 / panelWidth)

  // MARK: - Cutting

  /// Elements of depth that one block holds, and how many blocks there are.
  var depthBlocks: (count: Int, size: Int) {
    switch source {
    case .matrix:
      let count = max(1, (depth + 383) / 384)
      return (count, ((depth + count - 1) / count + 7) / 8 * 8)
    case .patches(let geometry):
      let chunks = (geometry.channels + geometry.channelsPerChunk - 1) / geometry.channelsPerChunk
      return (chunks, geometry.channelsPerChunk * geometry.tapCount)
    }
  }

  /// Computes C.
  func run(on pool: WorkCrew) {
    guard rows > 0, columns > 0 else { return }
    #if GENBENCH_ISA_V4BF16
      if usesPairs {
        withPooledScratch(roundedSourceCount) { rounded in
          roundSource(into: rounded, on: pool)
          var product = self
          product.roundedSource = UnsafePointer(rounded)
          product.runTasks(on: pool)
        }
        return
      }
    #endif
    runTasks(on: pool)
  }

  private func runTasks(on pool: WorkCrew) {
    let parts = ProductCuts(
      rows: rows, panels: (columns + panelWidth - 1) / panelWidth, threads: pool.threadCount,
      rowsPerChunk: gate == nil ? 2048 : 1024, panelsPerTask: gate == nil ? Self.maxPanelsPerTask : Self.maxPanelsPerTask / 2,
      tileRows: tileRows
    ).parts()
    let layout = ScratchLayout(self, parts: parts)
    pool.parallelFor(parts.count, scratchBytes: layout.byteCount) { task, scratch in
      runTask(parts[task], layout: layout, scratch: scratch.assumingMemoryBound(to: Float.self))
    }
  }

  /// Where the parts of a task's scratch memory start, in floats.
  struct ScratchLayout {
    /// Packed panels, `[panels, depth block, panelWidth]`; those of the gate behind them.
    let packed = 0
    let packedGate: Int
    /// Eight rows of weights on their way into a panel; behind them, for patches, a panel whose taps aren't in order yet.
    let staging: Int
    /// Where each element of a row of weights belongs in the order of the patches, whole numbers of 32 bits.
    let places: Int
    /// Gathered patches, `[rowBlock, depth block]`.
    let patches: Int
    /// A panel in floats on its way to pairs.
    let floatPanel: Int
    /// Sums of the gate, `[rows, panels · panelWidth]`.
    let gateSums: Int
    /// One tile that hangs over the right edge of C.
    let edge: Int
    let byteCount: Int

    init(_ product: MatrixProduct, parts: [ProductPart]) {
      let blockSize = product.depthBlocks.size
      let panels = parts.reduce(0) { max($0, $1.panels.count) }
      let packedSize = panels * (product.usesPairs ? (blockSize + 1) / 2 : blockSize) * panelWidth
      packedGate = packedSize
      staging = packedGate + (product.gate == nil ? 0 : packedSize)
      places = staging + 8 * stagingStride(blockSize) + (product.gathersPatches ? blockSize * panelWidth : 0)
      patches = places + (product.gathersPatches ? (blockSize + 15) / 16 * 16 : 0)
      floatPanel = patches + (product.gathersPatches ? MatrixProduct.rowBlock * blockSize : 0)
      gateSums = floatPanel + (product.usesPairs ? (blockSize + 1) * panelWidth : 0)
      let sums = parts.reduce(0) { max($0, $1.rows.count * $1.panels.count) } * panelWidth
      edge = gateSums + (product.gate == nil ? 0 : sums)
      byteCount = (edge + tileRows * panelWidth) * MemoryLayout<Float>.stride
    }
  }

  var gathersPatches: Bool {
    if case .patches = source { true } else { false }
  }

  // MARK: - One task

  private func runTask(_ part: ProductPart, layout: ScratchLayout, scratch: UnsafeMutablePointer<Float>) {
    let (blockCount, blockSize) = depthBlocks
    let (rows, panels) = (part.rows, part.panels)
    let first = panels.lowerBound * panelWidth
    let gateStride = panels.count * panelWidth
    // Taken out of the loops: a copy of the gate counts references.
    let gateWeight = gate?.weight
    let gateEpilogue = gate.map { Epilogue(bias: $0.bias, activation: $0.activation, columns: columns) }
    for block in 0..<blockCount {
      let depthRange = (block * blockSize)..<min(depth, (block + 1) * blockSize)
      let panelFloats = (usesPairs ? (depthRange.count + 1) / 2 : depthRange.count) * panelWidth
      preparePlaces(depthRange: depthRange, layout, scratch)
      for panel in panels {
        let offset = (panel - panels.lowerBound) * panelFloats
        let isLast = panel == panels.upperBound - 1
        let next = isLast ? (panels.lowerBound, depthRange.upperBound) : (panel + 1, depthRange.lowerBound)
        pack(weight, panel: panel, depthRange: depthRange, into: scratch + layout.packed + offset, layout, scratch)
        prefetch(weight, panel: next.0, from: next.1)
        guard let gateWeight else { continue }
        pack(gateWeight, panel: panel, depthRange: depthRange, into: scratch + layout.packedGate + offset, layout, scratch)
        prefetch(gateWeight, panel: next.0, from: next.1)
      }
      for firstRow in stride(from: rows.lowerBound, to: rows.upperBound, by: Self.rowBlock) {
        let rowRange = firstRow..<min(rows.upperBound, firstRow + Self.rowBlock)
        let (a, aStride) = leftRows(rowRange, block: block, depthRange: depthRange, gathered: scratch + layout.patches)
        let gateSums = scratch + layout.gateSums + (firstRow - rows.lowerBound) * gateStride
        for panel in panels {
          let offset = (panel - panels.lowerBound) * panelFloats
          let width = min(panelWidth, columns - panel * panelWidth)
          multiplyPanel(
            rows: rowRange.count, columns: width, depth: depthRange.count, a: a, aStride: aStride,
            b: scratch + layout.packed + offset, c: output + firstRow * columns + panel * panelWidth, cStride: columns,
            edge: scratch + layout.edge, accumulate: block > 0)
          guard gateEpilogue != nil else { continue }
          multiplyPanel(
            rows: rowRange.count, columns: width, depth: depthRange.count, a: a, aStride: aStride,
            b: scratch + layout.packedGate + offset, c: gateSums + (panel - panels.lowerBound) * panelWidth,
            cStride: gateStride, edge: scratch + layout.edge, accumulate: block > 0)
        }
        guard block == blockCount - 1 else { continue }
        let count = min(columns, panels.upperBound * panelWidth) - first
        for row in rowRange {
          let target = output + row * columns + first
          if !epilogue.isIdentity { epilogue.finish(target, row: row, first: first, count: count) }
          guard let gateEpilogue else { continue }
          let factors = gateSums + (row - firstRow) * gateStride
          gateEpilogue.finish(factors, row: row, first: first, count: count)
          multiplyInPlace(target, factors, count)
        }
      }
    }
  }

  /// Runs the register tiles down one panel.
  @inline(__always)
  private func multiplyPanel(
    rows: Int, columns: Int, depth: Int, a: UnsafePointer<Float>, aStride: Int, b: UnsafePointer<Float>,
    c: UnsafeMutablePointer<Float>, cStride: Int, edge: UnsafeMutablePointer<Float>, accumulate: Bool
  ) {
    #if GENBENCH_ISA_V4BF16
      if usesPairs {
        multiplyPairRows(
          rows: rows, columns: columns, pairCount: (depth + 1) / 2, a: a, aStride: aStride, b: b, c: c, cStride: cStride,
          edge: edge, accumulate: accumulate)
        return
      }
    #endif
    multiplyRows(
      rows: rows, columns: columns, depth: depth, a: a, aStride: aStride, b: b, c: c, cStride: cStride, edge: edge,
      accumulate: accumulate)
  }
}
