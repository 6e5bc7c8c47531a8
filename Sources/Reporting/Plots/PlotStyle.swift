import Foundation

/// What all figures share: colours, numbers, one line of text.
enum PlotStyle {
  /// Colours that the colour-blind can tell apart (Okabe & Ito 2008).
  private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]

  static func colour(_ index: Int) -> String { Gnuplot.quoted(colours[index % colours.count]) }

  static func number(_ value: Double) -> String { String(format: "%.6g", value) }

  static func oneLine(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }

  /// A label of a tick: quotes in gnuplot's `("text" place)` lists are doubled as elsewhere.
  static func tick(_ text: String, _ place: Double) -> String { "\(Gnuplot.quoted(text)) \(number(place))" }
}
