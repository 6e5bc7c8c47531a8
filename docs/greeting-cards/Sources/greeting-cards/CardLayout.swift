import Foundation
import Imaging
import PlaygroundKit
import Tensors

/// Picture, border and caption on paper.
struct CardLayout {
  let card: Card

  private static let paper: [UInt8] = [252, 249, 242]
  private static let ink = PlaygroundDrawing.Color(red: 0.20, green: 0.19, blue: 0.25)

  /// The front of a card without a picture, in the colour of its format.
  static func plainFront(_ card: Card) -> Bitmap {
    let size = ImagePlaygroundOptions.SizeSpecification.closest(to: card.format.size).size
    let color: [UInt8] =
      switch card.format {
      case .landscape: [226, 190, 199]
      case .portrait: [178, 204, 222]
      case .square: [214, 220, 184]
      }
    let (width, height) = (Int(size.width), Int(size.height))
    return Bitmap(width: width, height: height, samples: (0..<(width * height)).flatMap { _ in color })
  }

  /// The card: the picture in a frame, below it the theme, and whom it's for.
  func compose(picture: Bitmap, glyph: Bitmap?) -> Bitmap {
    let side = min(picture.width, picture.height)
    let (margin, band) = (side / 14, side / 5)
    let (width, height) = (picture.width + 2 * margin, picture.height + 2 * margin + band)
    var canvas = Bitmap(width: width, height: height, samples: (0..<(width * height)).flatMap { _ in Self.paper })
    place(picture, x: margin, y: margin, on: &canvas)

    // Strokes for the frame and the letters.
    var strokes = frame(x: margin, y: margin, width: picture.width, height: picture.height, gap: margin / 4, pen: side / 200 + 1)
    // The caption fits between the margins, and stands in the middle of what's below the frame.
    let frameBottom = margin + picture.height + margin / 4
    let middle = Double(frameBottom + height) / 2
    let theme = card.theme.uppercased()
    let name = "FOR \(card.recipient.uppercased())"
    let glyphSide = glyph == nil ? 0 : Int(Double(band) * 0.72)
    let room = Double(picture.width - glyphSide - (glyph == nil ? 0 : margin / 3) - margin)
    let wanted = Double(band) * 0.36
    let wantedWidth = StrokeFont.width(of: theme, height: wanted) + StrokeFont.width(of: name, height: wanted * 0.62)
    let letter = wanted * min(1, room / wantedWidth)
    let small = letter * 0.62
    let baseline = middle + letter / 2
    strokes += StrokeFont.line(theme, x: Double(margin), y: baseline - letter, height: letter, color: Self.ink)
    let nameX =
      Double(width - margin - glyphSide - (glyph == nil ? 0 : margin / 3)) - StrokeFont.width(of: name, height: small)
    strokes += StrokeFont.line(name, x: nameX, y: baseline - small, height: small, color: Self.ink)
    let size = CGSize(width: width, height: height)
    canvas = PlaygroundDrawing(strokes: strokes, canvas: size).rasterized(width: width, height: height, on: canvas)

    if let glyph, glyphSide > 0 {
      let small = Resample.resize(glyph, width: glyphSide, height: glyphSide, filter: .lanczos)
      place(small, x: width - margin - glyphSide, y: Int(middle) - glyphSide / 2, on: &canvas)
    }
    return canvas
  }

  private func frame(x: Int, y: Int, width: Int, height: Int, gap: Int, pen: Int) -> [PlaygroundDrawing.Stroke] {
    let (left, top, right, bottom) = (Double(x - gap), Double(y - gap), Double(x + width + gap), Double(y + height + gap))
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    return [
      PlaygroundDrawing.Stroke(
        points: corners.map { .init(x: $0.0, y: $0.1, width: Double(pen), opacity: 0.55) }, color: Self.ink)
    ]
  }

  /// Lays a picture over the canvas, by its alpha when it has one.
  private func place(_ picture: Bitmap, x: Int, y: Int, on canvas: inout Bitmap) {
    let hasAlpha = picture.channels == 4
    for row in 0..<picture.height where canvas.height > y + row && y + row >= 0 {
      for column in 0..<picture.width where canvas.width > x + column && x + column >= 0 {
        let source = (row * picture.width + column) * picture.channels
        let target = ((y + row) * canvas.width + x + column) * 3
        let alpha = hasAlpha ? Int(picture.samples[source + 3]) : 255
        for channel in 0..<3 {
          let (over, under) = (Int(picture.samples[source + channel]), Int(canvas.samples[target + channel]))
          canvas.samples[target + channel] = UInt8((over * alpha + under * (255 - alpha) + 127) / 255)
        }
      }
    }
  }
}
