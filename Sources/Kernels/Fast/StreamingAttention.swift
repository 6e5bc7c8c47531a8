internal import KernelContract
internal import Tensors

/// Attention with a running softmax.
///
/// Milakov and Gimelshein 2018, arXiv:1805.02867; in blocks, as in Dao and others 2022, arXiv:2205.14135.
///
/// Keys and values are packed once into panels that all query blocks share. A task takes 48 queries of one head through
/// the keys in blocks of 192: scores `S = Q Kᵀ` (36 KB), `P = 2^(S - m)` with the running row maximum m, `O = O · 2^(m_old - m) + P V`,
/// and at the end `O / Σ P`; the queries are scaled by `log2 e`, so powers of two make the softmax. All of a task but the panels stays in the L2 cache.
struct StreamingAttention {
  /// `[batch, queryCount, heads · headWidth]`.
  var queries: UnsafePointer<Float>
  /// `[batch, keyCount, keyValueHeads · headWidth]`.
  var keys: UnsafePointer<Float>
  /// As `keys`.
  var values: UnsafePointer<Float>
  /// As `queries`.
  var output: UnsafeMutablePointer<Float>
  var batch: Int
  var queryCount: Int
  var keyCount: Int
  var headWidth: Int
  var options: AttentionOptions
  /// Whether both products are made from pairs of bfloat16 (queries, keys, probabilities and values are rounded, sums and the
  /// softmax are not); only in the instruction set that has it.
  var usesPairs = false

  /// Up to this many queries, keys and values are read where they lie.
  static let fewQueries = 4

  /// Queries of one task; a multiple of every `tileRows`.
  private static let queryBlock = 48
  /// Keys of one step; a multiple of every `panelWidth`.
  private static let keyBlock = 192

  private var heads: Int { options.headCount }
  private var keyValueHeads: Int { options.keyValueHeadCount }
  private var queryStride: Int { heads * headWidth }
  var keyStride: Int { keyValueHeads * headWidth }
  /// Floats of one row of O: whole vectors.
  private var paddedWidth: Int { (headWidth + lanes - 1) / lanes * lanes }

  /// Floats that some elements take: themselves, or half as many pairs.
  private func packedCount(_ count: Int) -> Int { usesPairs ? (count + 1) / 2 : count }
  /// Panels of keys, `[headWidth, panelWidth]` each, or half as high: a key is a column.
  private var keyPanels: Int { (keyCount + panelWidth - 1) / panelWidth }
  /// Panels of values, `[keyCount, panelWidth]` each, or half as high: a key is a row.
  private var valuePanels: Int { (headWidth + panelWidth - 1) / panelWidth }
  private var packedKeys: Int { keyPanels * packedCount(headWidth) * panelWidth }
  private var packedHead: Int { packedKeys + valuePanels * packedCount(keyCount) * panelWidth }

  /// How many keys query `row` sees.
  func visibleKeys(_ row: Int) -> Int {
    guard let offset = options.causalOffset else { return keyCount }
    return max(0, min(keyCount, row + offset + 1))
  }

  /// Where the keys or values of a head start, for the first key.
  func firstKey(image: Int, head: Int) -> Int {
    image * keyCount * keyStride + head / (heads / keyValueHeads) * headWidth
  }

  /// Where a query's head starts.
  func firstElement(image: Int, query: Int, head: Int) -> Int { (image * queryCount + query) * queryStride + head * headWidth }

  /// Computes the output for many queries.
  func run(on pool: WorkCrew) {
    withPooledScratch(batch * keyValueHeads * packedHead) { packed in
      pack(into: packed, on: pool)
      let blocks = (queryCount + Self.queryBlock - 1) / Self.queryBlock
      let layout = ScratchLayout(headWidth: headWidth, paddedWidth: paddedWidth, usesPairs: usesPairs)
      pool.parallelFor(batch * heads * blocks, scratchBytes: layout.byteCount) { task, scratch in
        let image = task / (heads * blocks)
        let head = task / blocks % heads
        let first = task % blocks * Self.queryBlock
        let keyHead = image * keyValueHeads + head / (heads / keyValueHeads)
        attend(
          image: image, head: head, queries: first..<min(queryCount, first + Self.queryBlock),
          packed: packed + keyHead * packedHead, layout: layout, scratch: scratch.assumingMemoryBound(to: Float.self))
      }
    }
  }

  // MARK: - Packing

  private func pack(into packed: UnsafeMutablePointer<Float>, on pool: WorkCrew) {
    // A task packs some key panels of one head, and the same keys' rows of the value panels.
    let panelsPerTask = max(1, 256 / panelWidth)
    let tasks = (keyPanels + panelsPerTask - 1) / panelsPerTask
    // Rows on their way into a panel, a panel of floats on its way to pairs, two rows of values.
    let floats = 8 * stagingStride(headWidth)
    let values = floats + (usesPairs ? (headWidth + 1) * panelWidth : 0)
    let scratchBytes = (values + 2 * panelWidth) * MemoryLayout<Float>.stride
    pool.parallelFor(batch * keyValueHeads * tasks, scratchBytes: scratchBytes) { task, scratch in
      let scratch = scratch.assumingMemoryBound(to: Float.self)
      let head = task / tasks
      let source = head / keyValueHeads * keyCount * keyStride + head % keyValueHeads * headWidth
      let target = packed + head * packedHead
      for panel in (task % tasks * panelsPerTask)..<min(keyPanels, (task % tasks + 1) * panelsPerTask) {
        let first = panel * panelWidth
        let count = min(panelWidth, keyCount - first)
        let keyPanel = target + panel * packedCount(headWidth) * panelWidth
        let keyFloats = usesPairs ? scratch + floats : keyPanel
        packPanel(rowCount: count, depth: headWidth, panel: keyFloats, staging: scratch) { row, target in
          copy(keys + source + (first + row) * keyStride, target, headWidth)
        }
        #if GENBENCH_ISA_V4BF16
          if usesPairs { interleavePairs(keyFloats, depth: headWidth, into: keyPanel) }
        #endif
        packValues(first..<(first + count), source: source, into: target + packedKeys, staging: scratch + values)
      }
    }
  }

  /// Packs the values of some keys into all panels of a head; the first key is even.
  private func packValues(
    _ range: Range<Int>, source: Int, into target: UnsafeMutablePointer<Float>, staging: UnsafeMutablePointer<Float>
  ) {
    for panel in 0..<valuePanels {
      let column = panel * panelWidth
      let width = min(panelWidth, headWidth - column)
      func copyRow(_ row: Int, _ target: UnsafeMutablePointer<Float>) {
        copy(values + source + row * keyStride + column, target, width)
        if width < panelWidth { (target + width).update(repeating: 0, count: panelWidth - width) }
      }
      let panelTarget = target + panel * packedCount(keyCount) * panelWidth
      if !usesPairs {
        for row in range { copyRow(row, panelTarget + row * panelWidth) }
        continue
      }
      #if GENBENCH_ISA_V4BF16
        for row in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
          copyRow(row, staging)
          if row + 1 < range.upperBound {
            copyRow(row + 1, staging + panelWidth)
          } else {
            (staging + panelWidth).update(repeating: 0, count: panelWidth)
          }
          interleavePairs(staging, depth: 2, into: panelTarget + row / 2 * panelWidth)
        }
      #endif
    }
  }

  // MARK: - One task

  /// Where the parts of a task's scratch memory start, in floats.
  private struct ScratchLayout {
    /// Scaled queries, `[queryBlock, headWidth]`.
    let queries = 0
    /// Scores, then probabilities, `[queryBlock, keyBlock]`.
    let scores: Int
    /// O, `[queryBlock, paddedWidth]`.
    let sums: Int
    /// Running maximum and running total of each query.
    let maxima: Int
    let totals: Int
    /// Queries and probabilities in bfloat16, `[queryBlock, pairs]`.
    let queryPairs: Int
    let scorePairs: Int
    let edge: Int
    let byteCount: Int

    init(headWidth: Int, paddedWidth: Int, usesPairs: Bool) {
      scores = StreamingAttention.queryBlock * headWidth
      sums = scores + StreamingAttention.queryBlock * StreamingAttention.keyBlock
      maxima = sums + StreamingAttention.queryBlock * paddedWidth
      totals = maxima + StreamingAttention.queryBlock
      queryPairs = totals + StreamingAttention.queryBlock
      scorePairs = queryPairs + (usesPairs ? StreamingAttention.queryBlock * (headWidth + 1) / 2 : 0)
      edge = scorePairs + (usesPairs ? StreamingAttention.queryBlock * StreamingAttention.keyBlock / 2 : 0)
      byteCount = (edge + tileRows * panelWidth) * MemoryLayout<Float>.stride
    }
  }

  private func attend(
    image: Int, head: Int, queries range: Range<Int>, packed: UnsafePointer<Float>, layout: ScratchLayout,
    scratch: UnsafeMutablePointer<Float>
  ) {
    let scaled = scratch + layout.queries
    let scores = scratch + layout.scores
    let sums = scratch + layout.sums
    let maxima = scratch + layout.maxima
    let totals = scratch + layout.totals
    let scale = Vector(repeating: options.scale * 1.442_695_04)
    for (row, query) in range.enumerated() {
      let source = queries + firstElement(image: image, query: query, head: head)
      mapVectors(source, scaled + row * headWidth, headWidth) { x, _ in x * scale }
    }
    #if GENBENCH_ISA_V4BF16
      if usesPairs {
        roundRows(
          UnsafePointer(scaled), stride: headWidth, rows: range.count, depth: headWidth, into: scratch + layout.queryPairs)
      }
    #endif
    sums.update(repeating: 0, count: range.count * paddedWidth)
    maxima.update(repeating: -.infinity, count: range.count)
    totals.update(repeating: 0, count: range.count)
    let visibleToLast = visibleKeys(range.upperBound - 1)
    for firstKey in stride(from: 0, to: visibleToLast, by: Self.keyBlock) {
      let count = min(visibleToLast - firstKey, Self.keyBlock)
      for offset in stride(from: 0, to: count, by: panelWidth) {
        multiply(
          rows: range.count, columns: min(panelWidth, (count - offset + lanes - 1) / lanes * lanes), depth: headWidth,
          a: scratch + (usesPairs ? layout.queryPairs : layout.queries), aStride: packedCount(headWidth),
          b: packed + (firstKey + offset) * packedCount(headWidth), c: scores + offset, cStride: Self.keyBlock,
          edge: scratch + layout.edge, accumulate: false)
      }
      for row in 0..<range.count {
        softmaxStep(
          scores + row * Self.keyBlock, count: count, visible: visibleKeys(range.lowerBound + row) - firstKey,
          sums: sums + row * paddedWidth, maximum: maxima + row, total: totals + row)
      }
      #if GENBENCH_ISA_V4BF16
        if usesPairs {
          roundRows(
            UnsafePointer(scores), stride: Self.keyBlock, rows: range.count, depth: count, into: scratch + layout.scorePairs)
        }
      #endif
      for panel in 0..<valuePanels {
        let column = panel * panelWidth
        multiply(
          rows: range.count, columns: min(panelWidth, paddedWidth - column), depth: count,
          a: scratch + (usesPairs ? layout.scorePairs : layout.scores), aStride: usesPairs ? (count + 1) / 2 : Self.keyBlock,
          b: packed + packedKeys + (panel * packedCount(keyCount) + packedCount(firstKey)) * panelWidth, c: sums + column,
          cStride: paddedWidth, edge: scratch + layout.edge, accumulate: true)
      }
    }
    for (row, query) in range.enumerated() {
      let factor = Vector(repeating: totals[row] > 0 ? 1 / totals[row] : (totals[row] == 0 ? 0 : .nan))
      let target = output + firstElement(image: image, query: query, head: head)
      mapVectors(sums + row * paddedWidth, target, headWidth) { x, _ in x * factor }
    }
  }

  /// A product of floats, or of pairs.
  @inline(__always)
  private func multiply(
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

  /// One row of scores to probabilities, with the running maximum, total and O brought up to date.
  ///
  /// - Parameters:
  ///   - count: Scores of the block.
  ///   - visible: How many of them the mask leaves; the others become zero probabilities.
  @inline(__always)
  private func softmaxStep(
    _ scores: UnsafeMutablePointer<Float>, count: Int, visible: Int, sums: UnsafeMutablePointer<Float>,
    maximum: UnsafeMutablePointer<Float>, total: UnsafeMutablePointer<Float>
  ) {
    let limit = max(0, min(count, visible))
    (scores + limit).update(repeating: 0, count: count - limit)
    guard limit > 0 else { return }
    let before = maximum.pointee
    let largest = max(before, largestElement(scores, limit))
    let added = powersOfTwo(scores, limit, minus: largest)
    if largest != before {
      let correction = powerOfTwo(Vector(repeating: before - largest))
      for offset in stride(from: 0, to: paddedWidth, by: lanes) { store(load(sums + offset) * correction, sums + offset) }
      total.pointee *= correction[0]
      maximum.pointee = largest
    }
    total.pointee += added
  }
}
