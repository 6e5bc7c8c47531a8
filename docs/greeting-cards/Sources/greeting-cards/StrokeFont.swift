import Foundation
import PlaygroundKit

/// Capital letters as strokes of a pen, on a grid 4 wide and 6 high.
enum StrokeFont {
  private typealias Line = [(Double, Double)]

  /// A part of an ellipse, from one angle to another, in degrees.
  private static func round(_ cx: Double, _ cy: Double, _ rx: Double, _ ry: Double, _ start: Double, _ end: Double) -> Line {
    (0...14).map { step in
      let angle = (start + (end - start) * Double(step) / 14) * .pi / 180
      return (cx + rx * cos(angle), cy + ry * sin(angle))
    }
  }

  private static let letters: [Character: (width: Double, lines: [Line])] = [
    "A": (4, [[(0, 6), (2, 0), (4, 6)], [(0.7, 4), (3.3, 4)]]),
    "B": (
      3.6,
      [
        [(0, 6), (0, 0), (2, 0)], round(2, 1.45, 1.4, 1.45, -90, 90), [(0, 2.9), (2, 2.9)], round(2, 4.45, 1.6, 1.55, -90, 90),
        [(0, 6), (2, 6)],
      ]
    ),
    "C": (4, [round(2.2, 3, 2.2, 3, -50, -310)]),
    "D": (4, [[(0, 0), (0, 6), (1.4, 6)], round(1.4, 3, 2.6, 3, 90, -90), [(1.4, 0), (0, 0)]]),
    "E": (3.2, [[(3.2, 0), (0, 0), (0, 6), (3.2, 6)], [(0, 2.9), (2.6, 2.9)]]),
    "F": (3.2, [[(3.2, 0), (0, 0), (0, 6)], [(0, 2.9), (2.6, 2.9)]]),
    "G": (4.2, [round(2.2, 3, 2.2, 3, -50, -360), [(4.4, 3), (2.6, 3)]]),
    "H": (4, [[(0, 0), (0, 6)], [(4, 0), (4, 6)], [(0, 3), (4, 3)]]),
    "I": (0.6, [[(0.3, 0), (0.3, 6)]]),
    "J": (2.8, [[(2.8, 0), (2.8, 4.6)], round(1.4, 4.6, 1.4, 1.4, 0, 180)]),
    "K": (3.8, [[(0, 0), (0, 6)], [(3.6, 0), (0, 3.6)], [(1.3, 2.6), (3.8, 6)]]),
    "L": (3.2, [[(0, 0), (0, 6), (3.2, 6)]]),
    "M": (4.8, [[(0, 6), (0, 0), (2.4, 4), (4.8, 0), (4.8, 6)]]),
    "N": (4, [[(0, 6), (0, 0), (4, 6), (4, 0)]]),
    "O": (4.6, [round(2.3, 3, 2.3, 3, 0, 360)]),
    "P": (3.6, [[(0, 6), (0, 0), (2, 0)], round(2, 1.6, 1.6, 1.6, -90, 90), [(2, 3.2), (0, 3.2)]]),
    "Q": (4.6, [round(2.3, 3, 2.3, 3, 0, 360), [(2.8, 4.4), (4.6, 6.4)]]),
    "R": (3.8, [[(0, 6), (0, 0), (2, 0)], round(2, 1.6, 1.6, 1.6, -90, 90), [(2, 3.2), (0, 3.2)], [(1.8, 3.2), (3.8, 6)]]),
    "S": (3.6, [round(1.8, 1.5, 1.7, 1.5, -30, -270), round(1.8, 4.5, 1.8, 1.5, -90, 150)]),
    "T": (4, [[(0, 0), (4, 0)], [(2, 0), (2, 6)]]),
    "U": (4, [[(0, 0), (0, 4)], round(2, 4, 2, 2, 180, 0), [(4, 4), (4, 0)]]),
    "V": (4, [[(0, 0), (2, 6), (4, 0)]]),
    "W": (5.4, [[(0, 0), (1.4, 6), (2.7, 1.6), (4, 6), (5.4, 0)]]),
    "X": (4, [[(0, 0), (4, 6)], [(4, 0), (0, 6)]]),
    "Y": (4, [[(0, 0), (2, 3), (4, 0)], [(2, 3), (2, 6)]]),
    "Z": (3.8, [[(0, 0), (3.8, 0), (0, 6), (3.8, 6)]]),
  ]

  private static let gap = 1.3
  private static let space = 2.4

  /// Width of a line of text of a height; characters without a letter are spaces.
  static func width(of text: String, height: Double) -> Double {
    let advance = text.reduce(0.0) { $0 + (letters[$1].map { $0.width + gap } ?? space) }
    return max(0, advance - gap) * height / 6
  }

  /// The strokes of a line of text.
  static func line(_ text: String, x: Double, y: Double, height: Double, color: PlaygroundDrawing.Color)
    -> [PlaygroundDrawing.Stroke]
  {
    let scale = height / 6
    var left = x
    var strokes: [PlaygroundDrawing.Stroke] = []
    for character in text {
      guard let letter = letters[character] else {
        left += space * scale
        continue
      }
      for line in letter.lines {
        let points = line.map { PlaygroundDrawing.Point(x: left + $0.0 * scale, y: y + $0.1 * scale, width: 0.62 * scale) }
        strokes.append(PlaygroundDrawing.Stroke(points: points, color: color))
      }
      left += (letter.width + gap) * scale
    }
    return strokes
  }
}
