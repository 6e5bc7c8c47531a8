import Foundation
import PlaygroundKit

/// A card to be made.
struct Card: Sendable {
  /// The shape of a card; its size is what's asked for, and the nearest that there is is made.
  enum Format: String, Sendable, CaseIterable {
    case landscape, portrait, square

    var size: CGSize {
      switch self {
      case .landscape: CGSize(width: 1800, height: 1200)
      case .portrait: CGSize(width: 1000, height: 1500)
      case .square: CGSize(width: 600, height: 600)
      }
    }
  }

  /// The styles of a card: the one that the picker opens on, and those that it offers.
  struct StylePreset: Sendable {
    var initial: ImagePlaygroundStyle
    var allowed: [ImagePlaygroundStyle]

    static let classic = StylePreset(initial: .illustration, allowed: [.illustration, .sketch])
    static let expressive = StylePreset(initial: .animation, allowed: [.animation, .illustration, .emoji])
    static let drawn = StylePreset(initial: .sketch, allowed: [.sketch])
  }

  var format: Format
  var preset: StylePreset
  var theme: String
  var message: String
  var recipient: String
  /// What somebody has drawn on the small canvas below the card.
  var drawing: PlaygroundDrawing?

  static let all = [
    Card(
      format: .landscape, preset: .classic, theme: "Cherry blossoms",
      message: """
        Dear Anna, do you remember the old stone lighthouse, the wooden sailing boats and the cherry blossoms along the harbour
        wall? I wish you a very happy birthday, and hope that we will see all of it again together before the spring is over.
        """, recipient: "Anna"),
    Card(
      format: .portrait, preset: .expressive, theme: "Winter journey",
      message: """
        Dear Ben, thank you for the warm scarf and the ginger cookies. Think of me when the night train with its yellow windows
        leaves for the snowy mountains; the frozen lake and the little ski hut are waiting for both of us.
        """, recipient: "Ben"),
    Card(
      format: .square, preset: .drawn, theme: "With love", message: "To Clara.", recipient: "Clara", drawing: heart),
  ]

  /// A heart, with a pen that presses harder in the middle of the stroke.
  private static let heart: PlaygroundDrawing = {
    let points = (0...80).map { index -> PlaygroundDrawing.Point in
      let t = Double(index) / 80 * 2 * .pi
      let x = 16 * pow(sin(t), 3)
      let y = 13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t)
      return PlaygroundDrawing.Point(x: 50 + 2.2 * x, y: 48 - 2.2 * y, width: 3 + 2 * sin(t / 2), opacity: 0.9)
    }
    return PlaygroundDrawing(
      strokes: [PlaygroundDrawing.Stroke(points: points, color: .init(red: 0.75, green: 0.1, blue: 0.2))],
      canvas: CGSize(width: 100, height: 100))
  }()
}
