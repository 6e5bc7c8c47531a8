/// An outline that ``PictureReader`` knows.
public enum ShapeKind: String, Sendable, Hashable, CaseIterable {
  case circle, square, triangle, star, heart, ring

  /// Names an outline by how much it fills of its bounding box and of its convex hull, by its hole, and by which half is heavier.
  init?(of region: Region) {
    let filled = region.filled
    let area = Double(filled.pixels.count)
    let hole = (area - Double(region.pixels.count)) / area
    let extent = area / Double(filled.rows.count * filled.columns.count)
    let solidity = area / max(filled.hullArea, 1)
    let ratio = Double(filled.columns.count) / Double(filled.rows.count)
    let middle = filled.rows.lowerBound + filled.rows.count / 2
    let upper = Double(filled.pixels.count { $0 / filled.width < middle }) / area
    guard 0.6...1.6 ~= ratio else { return nil }
    if hole > 0.06, solidity > 0.9, 0.65...0.88 ~= extent {
      self = .ring
    } else if solidity > 0.92, extent > 0.89 {
      self = .square
    } else if solidity > 0.92, extent > 0.67 {
      if upper > 0.58 {
        self = .heart
      } else if upper > 0.42 {
        self = .circle
      } else {
        return nil
      }
    } else if solidity > 0.86, 0.4...0.66 ~= extent, upper < 0.45 {
      self = .triangle
    } else if solidity > 0.8, extent > 0.5, upper > 0.54 {
      self = .heart
    } else if solidity < 0.84 {
      self = .star
    } else {
      return nil
    }
  }
}
