internal import KernelContract
internal import Tensors

/// Attention with a running softmax.
///
/// Milakov and Gimelshein 2018, arXiv:1805.02867; in blocks, as in Dao and others 2022, arXiv:2205.14135.
///
/// Keys and values are packed once into panels that all query blocks share. A task takes 48 queries of one head through
/// the keys in blocks of 192: scores `S = Q Kᵀ` (36 KB), `P = exp(S - m)` with the running row maximum m, `O = O · e^(m_old - m) + P V`,
/// and at the end `O / Σ P`. All of a task but the panels stays in the L2 cache.
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

  /// Panels of keys, `[headWidth, panelWidth]` each: a key is a column.
  private var keyPanels: Int { (keyCount + panelWidth - 1) / panelWidth }
  /// Panels of values, `[keyCount, panelWidth]` each: a key is a row.
  private var valuePanels: Int { (headWidth + panelWidth - 1) / panelWidth }
  private var packedKeys: Int { keyPanels * headWidth * panelWidth }
  private var packedHead: Int { packedKeys + valuePanels * keyCount * panelWidth }

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
      let layout = ScratchLayout(headWidth: headWidth, paddedWidth: paddedWidth)
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
    let staging = 8 * stagingStride(headWidth)
    pool.parallelFor(batch * keyValueHeads * tasks, scratchBytes: staging * MemoryLayout<Float>.stride) { task, scratch in
      let head = task / tasks
      let source = head / keyValueHeads * keyCount * keyStride + head % keyValueHeads * headWidth
      let target = packed + head * packedHead
      for panel in (task % tasks * panelsPerTask)..<min(keyPanels, (task % tasks + 1) * panelsPerTask) {
        let first = panel * panelWidth
        let count = min(panelWidth, keyCount - first)
        packPanel(
          rowCount: count, depth: headWidth, panel: target + panel * headWidth * panelWidth,
          staging: scratch.assumingMemoryBound(to: Float.self)
        ) { row, target in copy(keys + source + (first + row) * keyStride, target, headWidth) }
        for valuePanel in 0..<valuePanels {
          let column = valuePanel * panelWidth
          let width = min(panelWidth, headWidth - column)
          for row in first..<(first + count) {
            let rowTarget = target + packedKeys + (valuePanel * keyCount + row) * panelWidth
            copy(values + source + row * keyStride + column, rowTarget, width)
            if width < panelWidth { (rowTarget + width).update(repeating: 0, count: panelWidth - width) }
          }
        }
      }
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
    let edge: Int
    let byteCount: Int

    init(headWidth: Int, paddedWidth: Int) {
      scores = StreamingAttention.queryBlock * headWidth
      sums = scores + StreamingAttention.queryBlock * StreamingAttention.keyBlock
      maxima = sums + StreamingAttention.queryBlock * paddedWidth
      totals = maxima + StreamingAttention.queryBlock
      edge = totals + StreamingAttention.queryBlock
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
    let scale = Vector(repeating: options.scale)
    for (row, query) in range.enumerated() {
      let source = queries + firstElement(image: image, query: query, head: head)
      mapVectors(source, scaled + row * headWidth, headWidth) { x, _ in x * scale }
    }
    sums.update(repeating: 0, count: range.count * paddedWidth)
    maxima.update(repeating: -.infinity, count: range.count)
    totals.update(repeating: 0, count: range.count)
    let visibleToLast = visibleKeys(range.upperBound - 1)
    for firstKey in stride(from: 0, to: visibleToLast, by: Self.keyBlock) {
      let count = min(visibleToLast - firstKey, Self.keyBlock)
      for offset in stride(from: 0, to: count, by: panelWidth) {
        multiplyRows(
          rows: range.count, columns: min(panelWidth, (count - offset + lanes - 1) / lanes * lanes), depth: headWidth,
          a: UnsafePointer(scaled), aStride: headWidth, b: packed + (firstKey + offset) * headWidth, c: scores + offset,
          cStride: Self.keyBlock, edge: scratch + layout.edge, accumulate: false)
      }
      for row in 0..<range.count {
        softmaxStep(
          scores + row * Self.keyBlock, count: count, visible: visibleKeys(range.lowerBound + row) - firstKey,
          sums: sums + row * paddedWidth, maximum: maxima + row, total: totals + row)
      }
      for panel in 0..<valuePanels {
        let column = panel * panelWidth
        multiplyRows(
          rows: range.count, columns: min(panelWidth, paddedWidth - column), depth: count, a: UnsafePointer(scores),
          aStride: Self.keyBlock, b: packed + packedKeys + (panel * keyCount + firstKey) * panelWidth, c: sums + column,
          cStride: paddedWidth, edge: scratch + layout.edge, accumulate: true)
      }
    }
    for (row, query) in range.enumerated() {
      let factor = Vector(repeating: totals[row] > 0 ? 1 / totals[row] : (totals[row] == 0 ? 0 : .nan))
      let target = output + firstElement(image: image, query: query, head: head)
      mapVectors(sums + row * paddedWidth, target, headWidth) { x, _ in x * factor }
    }
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
    let added = exponentials(scores, limit, minus: largest)
    if largest != before {
      let correction = exponential(Vector(repeating: before - largest))
      for offset in stride(from: 0, to: paddedWidth, by: lanes) { store(load(sums + offset) * correction, sums + offset) }
      total.pointee *= correction[0]
      maximum.pointee = largest
    }
    total.pointee += added
  }
}

/// The largest of some floats; NaN when one is.
@inline(__always)
func largestElement(_ source: UnsafePointer<Float>, _ count: Int) -> Float {
  var largest = Vector(repeating: -.infinity)
  var index = 0
  while index + lanes <= count {
    largest = maximum(largest, load(source + index))
    index += lanes
  }
  var result = -Float.infinity
  for lane in 0..<lanes { result = max(result, largest[lane]) }
  while index < count {
    result = max(result, source[index])
    index += 1
  }
  return result
}

/// Replaces floats by `exp(x - largest)`; returns their sum.
@inline(__always)
func exponentials(_ values: UnsafeMutablePointer<Float>, _ count: Int, minus largest: Float) -> Float {
  let shift = Vector(repeating: largest)
  var sum = Vector()
  var index = 0
  while index + lanes <= count {
    let value = exponential(load(values + index) - shift)
    sum += value
    store(value, values + index)
    index += lanes
  }
  var total = horizontalSum(sum)
  if index < count {
    let value = exponential(loadPartial(values + index, count - index) - shift)
    storePartial(value, values + index, count - index)
    for lane in 0..<(count - index) { total += value[lane] }
  }
  return total
}
