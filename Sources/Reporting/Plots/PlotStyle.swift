import Foundation
import Markup

/// What all figures share: colours, numbers, one line of text.
enum PlotStyle {
  /// Colours that the colour-blind can tell apart (Okabe & Ito 2008).
  private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]

  static func colour(_ index: Int) -> String { GnuplotText.quoted(colours[index % colours.count]) }

  static func number(_ value: Double) -> String { String(format: "%.6g", value) }

  /// A label of a tick, in gnuplot's `("text" place)` lists.
  static func tick(_ text: String, _ place: Double) -> String { "\(GnuplotText.format(text)) \(number(place))" }
}
