internal import Tensors

/// How the operands of a matrix product come to the register tiles.
extension MatrixProduct {
  // MARK: - Weights

  /// Packs one panel for a block of the depth.
  func pack(
    _ weight: WeightReader, panel: Int, depthRange: Range<Int>, into packed: UnsafeMutablePointer<Float>,
    _ layout: ScratchLayout, _ scratch: UnsafeMutablePointer<Float>
  ) {
    let first = panel * panelWidth
    let rows = first..<min(columns, first + panelWidth)
    let (start, count) = (depthRange.lowerBound, depthRange.count)
    let staging = scratch + layout.staging
    let floats = usesPairs ? scratch + layout.floatPanel : packed
    switch source {
    case .matrix:
      if usesPairs, weight.packPairs(rows: rows, from: start, count: count, into: packed) { return }
      if !weight.packPanel(rows: rows, from: start, count: count, into: floats) {
        packSingleRows(weight, rows: rows, depthRange: depthRange, into: floats, staging: staging)
      }
    case .patches(let geometry):
      let places = UnsafeRawPointer(scratch + layout.places).assumingMemoryBound(to: Int32.self)
      if !weight.packPanel(rows: rows, from: start, count: count, into: floats, places: places) {
        let natural = staging + 8 * stagingStride(count)
        packSingleRows(weight, rows: rows, depthRange: depthRange, into: natural, staging: staging)
        geometry.reorderTaps(natural, channels: count / geometry.tapCount, into: floats)
      }
    }
    #if GENBENCH_ISA_V4BF16
      if usesPairs { interleavePairs(floats, depth: count, into: packed) }
    #endif
  }

  private func packSingleRows(
    _ weight: WeightReader, rows: Range<Int>, depthRange: Range<Int>, into target: UnsafeMutablePointer<Float>,
    staging: UnsafeMutablePointer<Float>
  ) {
    packPanel(rowCount: rows.count, depth: depthRange.count, panel: target, staging: staging) { row, target in
      weight.read(row: rows.lowerBound + row, from: depthRange.lowerBound, count: depthRange.count, into: target)
    }
  }

  /// For patches: element k of a row of weights, `[channels, taps]` in its file, belongs at `[taps, channels]`.
  func preparePlaces(depthRange: Range<Int>, _ layout: ScratchLayout, _ scratch: UnsafeMutablePointer<Float>) {
    guard case .patches(let geometry) = source else { return }
    let places = UnsafeMutableRawPointer(scratch + layout.places).assumingMemoryBound(to: Int32.self)
    let channels = depthRange.count / geometry.tapCount
    for channel in 0..<channels {
      for tap in 0..<geometry.tapCount { places[channel * geometry.tapCount + tap] = Int32(tap * channels + channel) }
    }
  }

  /// Asks for the weights that the panel after this one is made from.
  @inline(__always)
  func prefetch(_ weight: WeightReader, panel: Int, from start: Int) {
    let first = panel * panelWidth
    let rows = min(columns, first)..<min(columns, first + panelWidth)
    weight.prefetch(rows: rows, from: start, count: min(depth - start, depthBlocks.size))
  }

  // MARK: - Rows

  /// Some rows of A for a block of the depth, and the floats between two of them.
  func leftRows(
    _ rows: Range<Int>, block: Int, depthRange: Range<Int>, gathered: UnsafeMutablePointer<Float>
  ) -> (UnsafePointer<Float>, Int) {
    switch source {
    case .matrix(let base, let stride):
      if let roundedSource {
        let stride = (depth + 1) / 2
        return (roundedSource + rows.lowerBound * stride + depthRange.lowerBound / 2, stride)
      }
      return (base + rows.lowerBound * stride + depthRange.lowerBound, stride)
    case .patches(var geometry):
      var channels =
        (block * geometry.channelsPerChunk)..<(block * geometry.channelsPerChunk + depthRange.count / geometry.tapCount)
      if let roundedSource {
        // A pair of channels takes the place of one float.
        geometry = geometry.withInput(roundedSource, channels: geometry.channels / 2)
        channels = (channels.lowerBound / 2)..<(channels.upperBound / 2)
      }
      geometry.gather(rows: rows, channels: channels, into: gathered)
      return (UnsafePointer(gathered), channels.count * geometry.tapCount)
    }
  }

  #if GENBENCH_ISA_V4BF16
    /// Rows and floats of a row of A as it lies in memory.
    private var sourceShape: (rows: Int, width: Int, stride: Int, base: UnsafePointer<Float>) {
      switch source {
      case .matrix(let base, let stride): (rows, depth, stride, base)
      case .patches(let geometry): (geometry.pixelCount(rows: rows), geometry.channels, geometry.channels, geometry.input)
      }
    }

    /// Floats that A takes in bfloat16.
    var roundedSourceCount: Int { sourceShape.rows * ((sourceShape.width + 1) / 2) }

    /// Rounds A to bfloat16, on all threads.
    func roundSource(into target: UnsafeMutablePointer<Float>, on pool: WorkCrew) {
      let (rows, width, stride, base) = sourceShape
      pool.parallelRanges(rows, grain: max(1, 16_384 / max(width, 1))) { range, _ in
        roundRows(
          base + range.lowerBound * stride, stride: stride, rows: range.count, depth: width,
          into: target + range.lowerBound * ((width + 1) / 2))
      }
    }
  #endif
}
