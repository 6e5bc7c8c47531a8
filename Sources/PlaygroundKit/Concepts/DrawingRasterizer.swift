import Foundation
import Tensors

/// Turns strokes into pixels.
///
/// A stroke is the union of the segments between its points; a segment is the area within half its width, which runs linearly
/// from one end's to the other's. A pixel's coverage falls from 1 to 0 over one pixel at the edge (by the distance of its
/// centre). Where a stroke crosses itself the larger of its opacities counts, so that it doesn't get darker there; strokes lie
/// over each other and the background by "source over" (Porter and Duff 1984).
struct DrawingRasterizer {
  /// Pixels in a row.
  let width: Int
  /// Rows.
  let height: Int

  /// Draws on a background of the same size; nil is white paper.
  ///
  /// The canvas fills the picture as far as its aspect allows, in the middle. Points that aren't finite are left out.
  func draw(_ drawing: PlaygroundDrawing, on background: Bitmap? = nil) -> Bitmap {
    var output = background ?? Bitmap(width: width, height: height, samples: [UInt8](repeating: 255, count: width * height * 3))
    precondition(output.width == width && output.height == height && output.channels == 3)
    let (canvasWidth, canvasHeight) = (Double(drawing.canvas.width), Double(drawing.canvas.height))
    guard canvasWidth > 0, canvasHeight > 0, canvasWidth.isFinite, canvasHeight.isFinite else { return output }
    let scale = min(Double(width) / canvasWidth, Double(height) / canvasHeight)
    let (left, top) = ((Double(width) - canvasWidth * scale) / 2, (Double(height) - canvasHeight * scale) / 2)
    for stroke in drawing.strokes {
      let points = stroke.points.filter { $0.x.isFinite && $0.y.isFinite && $0.width.isFinite && $0.opacity.isFinite }.map {
        PlaygroundDrawing.Point(
          x: left + $0.x * scale, y: top + $0.y * scale, width: max(0, $0.width) * scale, opacity: min(max($0.opacity, 0), 1))
      }
      if let coverage = coverage(of: points) { paint(stroke.color, coverage, on: &output) }
    }
    return output
  }

  /// Opacity by pixel, within the box that the stroke reaches.
  private struct Coverage {
    var columns: Range<Int>
    var rows: Range<Int>
    var values: [Float]
  }

  private func coverage(of points: [PlaygroundDrawing.Point]) -> Coverage? {
    guard !points.isEmpty else { return nil }
    let reach = points.map { max($0.width, 1) / 2 + 1 }
    func range(_ values: [Double], _ limit: Int) -> Range<Int> {
      let low = zip(values, reach).map { $0 - $1 }.min() ?? 0
      let high = zip(values, reach).map { $0 + $1 }.max() ?? 0
      let start = Int(min(max(low.rounded(.down), 0), Double(limit)))
      return start..<max(start, Int(min(max(high.rounded(.up), 0), Double(limit))))
    }
    var box = Coverage(columns: range(points.map(\.x), width), rows: range(points.map(\.y), height), values: [])
    guard !box.columns.isEmpty, !box.rows.isEmpty else { return nil }
    box.values = [Float](repeating: 0, count: box.columns.count * box.rows.count)
    if points.count == 1 { fill(&box, from: points[0], to: points[0]) }
    for (start, end) in zip(points, points.dropFirst()) { fill(&box, from: start, to: end) }
    return box
  }

  private func fill(_ box: inout Coverage, from start: PlaygroundDrawing.Point, to end: PlaygroundDrawing.Point) {
    let (dx, dy) = (end.x - start.x, end.y - start.y)
    let length = dx * dx + dy * dy
    let reach = max(start.width, end.width, 1) / 2 + 1
    let rows = clamped(min(start.y, end.y) - reach, max(start.y, end.y) + reach, to: box.rows)
    let columns = clamped(min(start.x, end.x) - reach, max(start.x, end.x) + reach, to: box.columns)
    for row in rows {
      for column in columns {
        let (px, py) = (Double(column) + 0.5 - start.x, Double(row) + 0.5 - start.y)
        let along = length > 0 ? min(max((px * dx + py * dy) / length, 0), 1) : 0
        let distance = ((px - along * dx) * (px - along * dx) + (py - along * dy) * (py - along * dy)).squareRoot()
        // A line thinner than a pixel is drawn one pixel wide and fainter.
        let lineWidth = start.width + along * (end.width - start.width)
        let edge = min(max(max(lineWidth, 1) / 2 + 0.5 - distance, 0), 1) * min(lineWidth, 1)
        let value = Float(edge * (start.opacity + along * (end.opacity - start.opacity)))
        let index = (row - box.rows.lowerBound) * box.columns.count + column - box.columns.lowerBound
        box.values[index] = max(box.values[index], value)
      }
    }
  }

  private func clamped(_ low: Double, _ high: Double, to limits: Range<Int>) -> Range<Int> {
    let start = Int(min(max(low.rounded(.down), Double(limits.lowerBound)), Double(limits.upperBound)))
    return start..<max(start, Int(min(max(high.rounded(.up), Double(limits.lowerBound)), Double(limits.upperBound))))
  }

  private func paint(_ color: PlaygroundDrawing.Color, _ coverage: Coverage, on output: inout Bitmap) {
    let ink = [color.red, color.green, color.blue].map { Float(min(max($0.isNaN ? 0 : $0, 0), 1) * 255) }
    for row in coverage.rows {
      for column in coverage.columns {
        let index = (row - coverage.rows.lowerBound) * coverage.columns.count + column - coverage.columns.lowerBound
        let opacity = coverage.values[index]
        guard opacity > 0 else { continue }
        for channel in 0..<3 {
          let place = (row * width + column) * 3 + channel
          let under = Float(output.samples[place])
          output.samples[place] = UInt8((ink[channel] * opacity + under * (1 - opacity)).rounded())
        }
      }
    }
  }
}
