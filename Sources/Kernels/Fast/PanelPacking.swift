internal import CPUFeatures

/// Writes rows of up to `panelWidth` weights as one panel, `[depth, panelWidth]`: column j of the panel is row j.
///
/// Columns beyond `rowCount` are zeros.
///
/// - Parameters:
///   - rowCount: Rows that there are, `1...panelWidth`.
///   - depth: Elements per row.
///   - panel: Room for `depth · panelWidth` floats.
///   - staging: Room for `8 · roundedUp(depth, 8)` floats.
///   - readRow: Writes the `depth` elements of a row.
@inline(__always)
func packPanel(
  rowCount: Int, depth: Int, panel: UnsafeMutablePointer<Float>, staging: UnsafeMutablePointer<Float>,
  readRow: (_ row: Int, _ target: UnsafeMutablePointer<Float>) -> Void
) {
  let stride = stagingStride(depth)
  for group in Swift.stride(from: 0, to: panelWidth, by: 8) {
    for row in 0..<8 {
      let target = staging + row * stride
      if group + row < rowCount {
        readRow(group + row, target)
      } else {
        target.update(repeating: 0, count: depth)
      }
    }
    transposeGroup(depth: depth, source: staging, sourceStride: stride, target: panel + group)
  }
}

/// Floats between two rows of the staging area of ``packPanel(rowCount:depth:panel:staging:readRow:)``.
@inline(__always)
func stagingStride(_ depth: Int) -> Int { (depth + 7) / 8 * 8 }

/// Writes eight rows of `depth` floats as eight columns of a panel.
@inline(__always)
private func transposeGroup(
  depth: Int, source: UnsafePointer<Float>, sourceStride: Int, target: UnsafeMutablePointer<Float>
) {
  var k = 0
  while k + 8 <= depth {
    genbench_transpose_8x8(source + k, sourceStride, target + k * panelWidth, panelWidth)
    k += 8
  }
  while k < depth {
    for row in 0..<8 { target[k * panelWidth + row] = source[row * sourceStride + k] }
    k += 1
  }
}
