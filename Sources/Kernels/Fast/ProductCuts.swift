/// One task of a matrix product: some rows of C and some panels of its columns.
struct ProductPart: Equatable {
  var rows: Range<Int>
  var panels: Range<Int>
}

/// How a matrix product is cut into tasks.
///
/// Rows are cut into chunks, whose rows of A stay in the L3 cache while all threads go through the panels of W. In a chunk the
/// groups of panels become smaller towards the end. The last panels, those that don't divide by the threads, are cut between
/// the threads by rows, each of which then packs them. So the threads end within a fraction of a panel of each other.
/// Sums don't cross any cut.
struct ProductCuts {
  /// Rows of C.
  var rows: Int
  /// Panels of columns.
  var panels: Int
  var threads: Int
  /// Most rows of a chunk, about.
  var rowsPerChunk: Int
  /// Most panels of a task.
  var panelsPerTask: Int
  /// Rows of a register tile; all cuts but the last are multiples of it.
  var tileRows: Int

  /// The tasks, in the order in which they should start.
  func parts() -> [ProductPart] {
    guard rows > 0, panels > 0 else { return [] }
    let chunks = cut(0..<rows, into: max(1, rows / rowsPerChunk))
    // What doesn't divide by the threads, or one panel for each.
    let units = chunks.count * panels
    let tail = threads == 1 ? 0 : min(panels, units % threads == 0 ? threads : units % threads)
    var remaining = units - tail
    var parts: [ProductPart] = []
    for (index, chunk) in chunks.enumerated() {
      let whole = index == chunks.count - 1 ? panels - tail : panels
      var panel = 0
      while panel < whole {
        let fair = threads == 1 ? panelsPerTask : remaining / (2 * threads)
        let count = min(whole - panel, max(1, min(panelsPerTask, fair)))
        parts.append(ProductPart(rows: chunk, panels: panel..<(panel + count)))
        panel += count
        remaining -= count
      }
      for panel in whole..<panels {
        for rows in cut(chunk, into: max(1, min(threads, chunk.count / (2 * tileRows)))) {
          parts.append(ProductPart(rows: rows, panels: panel..<(panel + 1)))
        }
      }
    }
    return parts
  }

  /// Nearly equal ranges of whole tiles.
  private func cut(_ range: Range<Int>, into count: Int) -> [Range<Int>] {
    let tiles = (range.count + tileRows - 1) / tileRows
    return (0..<count).compactMap { index in
      let first = range.lowerBound + tiles * index / count * tileRows
      let end = min(range.upperBound, range.lowerBound + tiles * (index + 1) / count * tileRows)
      return first < end ? first..<end : nil
    }
  }
}
