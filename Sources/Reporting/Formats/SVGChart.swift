import Foundation
import Markup
import Measurement

/// Small charts as inline SVG; colours follow the page's light or dark scheme.
enum SVGChart {
  /// A line, or dots, with a band around it.
  struct Series {
    var name: String
    var points: [(x: Double, y: Double)]
    var band: [(x: Double, low: Double, high: Double)] = []
    var isDots = false
  }

  /// Colours that the colour-blind can tell apart (Okabe & Ito 2008).
  static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b"]

  static func colour(_ index: Int) -> String { colours[index % colours.count] }

  static let style = """
    svg{max-width:100%;height:auto;display:block}svg text{fill:var(--dim);font:11px system-ui,sans-serif}svg .axis{stroke:var(--line)}
    .legend{font-size:13px;color:var(--dim)}.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .3em 0 .9em;vertical-align:-1px}
    """

  private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

  /// Round numbers from 0, or from below the least value, to beyond the largest.
  static func ticks(_ low: Double, _ high: Double) -> [Double] {
    guard high > low, (high - low).isFinite else { return [low] }
    let rough = (high - low) / 4
    let power = pow(10, floor(log10(rough)))
    let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= rough } ?? rough
    var ticks: [Double] = []
    var tick = floor(low / step) * step
    while tick < high + step * 0.999, ticks.count < 12 {
      ticks.append(tick)
      tick += step
    }
    return ticks
  }

  /// Lines over x; y begins at 0.
  static func lines(_ series: [Series], x xLabel: String, y yLabel: String, format: (Double) -> String, whole: Bool = false)
    -> String
  {
    let points = series.flatMap { $0.points + $0.band.flatMap { [(x: $0.x, y: $0.low), (x: $0.x, y: $0.high)] } }
    guard let lastX = points.map(\.x).max(), let firstX = points.map(\.x).min(), let top = points.map(\.y).max() else {
      return ""
    }
    let (width, height, left, bottom) = (720.0, 240.0, 64.0, 34.0)
    let yTicks = ticks(0, max(top, 1e-12))
    let yMax = yTicks.last ?? 1
    let span = max(lastX - firstX, 1e-9)
    func px(_ x: Double) -> Double { left + (x - firstX) / span * (width - left - 12) }
    func py(_ y: Double) -> Double { (height - bottom) - y / yMax * (height - bottom - 10) }
    var parts: [String] = []
    for tick in yTicks {
      parts.append(
        "<line class=\"axis\" x1=\"\(left)\" x2=\"\(width - 12)\" y1=\"\(number(py(tick)))\" y2=\"\(number(py(tick)))\"/>")
      parts.append(
        "<text x=\"\(left - 6)\" y=\"\(number(py(tick) + 4))\" text-anchor=\"end\">\(XML.text(format(tick)))</text>")
    }
    for tick in ticks(firstX, lastX) where tick >= firstX && tick <= lastX {
      if whole, tick != tick.rounded() { continue }
      parts.append(
        "<text x=\"\(number(px(tick)))\" y=\"\(height - bottom + 16)\" text-anchor=\"middle\">\(tick == tick.rounded() ? String(Int(tick)) : XML.text(Units.significant(tick)))</text>"
      )
    }
    for (index, line) in series.enumerated() {
      let colour = colour(index)
      if !line.band.isEmpty {
        let upper = line.band.map { "\(number(px($0.x))),\(number(py($0.high)))" }
        let lower = line.band.reversed().map { "\(number(px($0.x))),\(number(py($0.low)))" }
        parts.append("<polygon points=\"\((upper + lower).joined(separator: " "))\" fill=\"\(colour)\" opacity=\".18\"/>")
      }
      if line.isDots || line.points.count == 1 {
        for point in line.points {
          parts.append("<circle cx=\"\(number(px(point.x)))\" cy=\"\(number(py(point.y)))\" r=\"3\" fill=\"\(colour)\"/>")
        }
      } else {
        let path = line.points.map { "\(number(px($0.x))),\(number(py($0.y)))" }.joined(separator: " ")
        parts.append("<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"1.8\"/>")
      }
    }
    parts.append("<text x=\"\(width - 12)\" y=\"\(height - 4)\" text-anchor=\"end\">\(XML.text(xLabel))</text>")
    let legend = series.count < 2 ? "" : legend(series.map(\.name))
    return """
      <svg viewBox="0 0 \(Int(width)) \(Int(height))" width="\(Int(width))" role="img" aria-label="\(XML.attribute(yLabel))">\(parts.joined())</svg>\(legend)
      """
  }

  /// Parts of a whole as one bar.
  static func bar(_ parts: [(name: String, value: Double)], format: (Double) -> String) -> String {
    let total = parts.reduce(0) { $0 + $1.value }
    guard total > 0 else { return "" }
    let width = 720.0
    var x = 0.0
    var shapes: [String] = []
    for (index, part) in parts.enumerated() {
      let length = part.value / total * width
      shapes.append(
        "<rect x=\"\(number(x))\" y=\"0\" width=\"\(String(format: "%.2f", length))\" height=\"22\" fill=\"\(colour(index))\">"
          + "<title>\(XML.text(part.name)): \(XML.text(format(part.value)))</title></rect>")
      x += length
    }
    let words = parts.map { "\($0.name) \(format($0.value)) (\(Units.significant($0.value / total * 100, digits: 2)) %)" }
    return """
      <svg viewBox="0 0 720 22" width="720" height="22" role="img" aria-label="time budget">\(shapes.joined())</svg>\(legend(words))
      """
  }

  static func legend(_ names: [String]) -> String {
    let items = names.enumerated().map { "<i style=\"background:\(colour($0.offset))\"></i>\(XML.text($0.element))" }
    return "<p class=\"legend\">\(items.joined())</p>"
  }
}
