/// `C = A · B`, or `C += A · B`, where B is one packed panel.
///
/// - Parameters:
///   - rows: Rows of A and C.
///   - columns: Columns of C, `1...panelWidth`.
///   - depth: Columns of A, rows of the panel.
///   - a: `[rows, depth]`, rows `aStride` floats apart.
///   - b: `[depth, panelWidth]`.
///   - c: `[rows, columns]`, rows `cStride` floats apart.
///   - edge: Room for `tileRows · panelWidth` floats; used when `columns` isn't a multiple of the vector width.
func multiplyRows(
  rows: Int, columns: Int, depth: Int, a: UnsafePointer<Float>, aStride: Int, b: UnsafePointer<Float>,
  c: UnsafeMutablePointer<Float>, cStride: Int, edge: UnsafeMutablePointer<Float>, accumulate: Bool
) {
  let vectors = (columns + lanes - 1) / lanes
  if vectors == FullRow.vectorCount {
    multiplyTiles(FullRow.self, rows, columns, depth, a, aStride, b, c, cStride, edge, accumulate)
  } else if vectors == 1 {
    multiplyTiles(TileRow1.self, rows, columns, depth, a, aStride, b, c, cStride, edge, accumulate)
  } else {
    multiplyTiles(TileRow2.self, rows, columns, depth, a, aStride, b, c, cStride, edge, accumulate)
  }
}

@inline(__always)
private func multiplyTiles<Row: TileRow>(
  _ type: Row.Type, _ rows: Int, _ columns: Int, _ depth: Int, _ a: UnsafePointer<Float>, _ aStride: Int,
  _ b: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ edge: UnsafeMutablePointer<Float>,
  _ accumulate: Bool
) {
  let isWhole = columns == Row.vectorCount * lanes
  for first in stride(from: 0, to: rows, by: tileRows) {
    let count = min(tileRows, rows - first)
    let left = a + first * aStride
    let target = c + first * cStride
    if isWhole, count == tileRows {
      multiplyTile(
        type, rows: tileRows, computed: tileRows, depth: depth, a: left, aStride: aStride, b: b, bStride: panelWidth, c: target,
        cStride: cStride, accumulate: accumulate)
    } else if isWhole, count <= 2 {
      multiplyTile(
        type, rows: count, computed: 2, depth: depth, a: left, aStride: aStride, b: b, bStride: panelWidth, c: target,
        cStride: cStride, accumulate: accumulate)
    } else if isWhole, count <= 4 {
      multiplyTile(
        type, rows: count, computed: 4, depth: depth, a: left, aStride: aStride, b: b, bStride: panelWidth, c: target,
        cStride: cStride, accumulate: accumulate)
    } else if isWhole {
      multiplyTile(
        type, rows: count, computed: tileRows, depth: depth, a: left, aStride: aStride, b: b, bStride: panelWidth, c: target,
        cStride: cStride, accumulate: accumulate)
    } else {
      if accumulate {
        for row in 0..<count { (edge + row * panelWidth).update(from: target + row * cStride, count: columns) }
      }
      multiplyTile(
        type, rows: count, computed: tileRows, depth: depth, a: left, aStride: aStride, b: b, bStride: panelWidth, c: edge,
        cStride: panelWidth, accumulate: accumulate)
      for row in 0..<count { (target + row * cStride).update(from: edge + row * panelWidth, count: columns) }
    }
  }
}
