public import Foundation
public import Tensors

#if canImport(PencilKit)
  public import PencilKit
#endif

/// A drawing of strokes, each with a width and an opacity at every point: PencilKit's, without PencilKit.
public struct PlaygroundDrawing: Sendable, Hashable {
  /// A point of a stroke.
  public struct Point: Sendable, Hashable {
    /// Where it is, in the units of ``PlaygroundDrawing/canvas``, from the top left.
    public var x: Double
    /// See ``x``.
    public var y: Double
    /// Width of the stroke here, in the same units.
    public var width: Double
    /// 0...1.
    public var opacity: Double

    /// Makes a point.
    public init(x: Double, y: Double, width: Double = 4, opacity: Double = 1) {
      self.x = x
      self.y = y
      self.width = width
      self.opacity = opacity
    }
  }

  /// A colour, 0...1 each.
  public struct Color: Sendable, Hashable {
    /// Red, green, blue.
    public var red: Double
    /// See ``red``.
    public var green: Double
    /// See ``red``.
    public var blue: Double

    /// Makes a colour.
    public init(red: Double, green: Double, blue: Double) {
      self.red = red
      self.green = green
      self.blue = blue
    }
    /// Black ink.
    public static let black = Color(red: 0, green: 0, blue: 0)
  }

  /// A line that was drawn without lifting the pen.
  public struct Stroke: Sendable, Hashable {
    /// The points, in order; one alone is a dot.
    public var points: [Point]
    /// The ink.
    public var color: Color
    /// Makes a stroke.
    public init(points: [Point], color: Color = .black) {
      self.points = points
      self.color = color
    }
  }

  /// The strokes, the lowest first.
  public var strokes: [Stroke]
  /// Size of the canvas.
  public var canvas: CGSize

  /// Makes a drawing.
  public init(strokes: [Stroke], canvas: CGSize) {
    self.strokes = strokes
    self.canvas = canvas
  }

  /// Whether it shows nothing.
  public var isEmpty: Bool { strokes.allSatisfy { $0.points.isEmpty } }

  /// The drawing as pixels, on white paper or on a picture.
  ///
  /// The canvas fills the picture as far as its aspect allows, in the middle; points that aren't finite are left out.
  ///
  /// - Precondition: `width` and `height` are at least 1, and the background is RGB of that size.
  public func rasterized(width: Int, height: Int, on background: Bitmap? = nil) -> Bitmap {
    DrawingRasterizer(width: width, height: height).draw(self, on: background)
  }

  #if canImport(PencilKit)
    /// The strokes of a PencilKit drawing.
    ///
    /// - Parameter canvas: Size of the canvas that it was drawn on; nil takes the drawing's bounds.
    public init(_ drawing: PKDrawing, canvas: CGSize? = nil) {
      let origin = canvas == nil ? drawing.bounds.origin : .zero
      self.init(
        strokes: drawing.strokes.map { stroke in
          Stroke(
            points: stroke.path.interpolatedPoints(by: .distance(2)).map { point in
              let location = point.location.applying(stroke.transform)
              return Point(
                x: Double(location.x - origin.x), y: Double(location.y - origin.y), width: Double(point.size.width),
                opacity: Double(point.opacity))
            })
        }, canvas: canvas ?? drawing.bounds.size)
    }
  #endif
}
