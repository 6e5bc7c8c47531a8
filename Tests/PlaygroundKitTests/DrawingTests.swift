import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Tensors
import Testing

@testable import PlaygroundKit

/// Strokes to pixels.
struct DrawingTests {
  private func draw(_ strokes: [PlaygroundDrawing.Stroke], width: Int = 100, height: Int = 100, canvas: CGSize? = nil) -> Bitmap {
    DrawingRasterizer(width: width, height: height).draw(
      PlaygroundDrawing(strokes: strokes, canvas: canvas ?? CGSize(width: width, height: height)))
  }

  private func line(_ points: [(Double, Double)], width: Double, opacity: Double = 1, color: PlaygroundDrawing.Color = .black)
    -> PlaygroundDrawing.Stroke
  {
    PlaygroundDrawing.Stroke(points: points.map { .init(x: $0.0, y: $0.1, width: width, opacity: opacity) }, color: color)
  }

  /// The ink of a stroke in pixels: for a segment its length times its width and a circle.
  @Test(arguments: [(2.0, 0.5), (6, 1), (11, 0.25), (1, 1), (0.5, 1)])
  func theInkIsTheAreaTimesTheOpacity(_ width: Double, _ opacity: Double) {
    let image = draw([line([(30, 50), (70, 50)], width: width, opacity: opacity)])
    let ink = image.samples.reduce(0.0) { $0 + (255 - Double($1)) / 255 } / 3
    let drawn = max(width, 1)
    let wanted = (40 * drawn + .pi * drawn * drawn / 4) * opacity * min(width, 1)
    #expect(abs(ink - wanted) < 0.06 * wanted + 1, "ink \(ink), area \(wanted)")
  }

  @Test func aWidthThatChangesIsACone() {
    let stroke = PlaygroundDrawing.Stroke(points: [
      .init(x: 20, y: 50, width: 2, opacity: 1), .init(x: 80, y: 50, width: 30, opacity: 1),
    ])
    let image = draw([stroke])
    func height(at x: Int) -> Int { (0..<100).count { image.pixel(x, $0)[0] < 128 } }
    #expect(abs(height(at: 20) - 2) <= 1 && abs(height(at: 50) - 16) <= 2 && abs(height(at: 80) - 30) <= 1)
  }

  @Test func anOpacityThatChangesFades() {
    let stroke = PlaygroundDrawing.Stroke(points: [
      .init(x: 10, y: 50, width: 20, opacity: 1), .init(x: 90, y: 50, width: 20, opacity: 0),
    ])
    let image = draw([stroke])
    #expect(image.pixel(10, 50)[0] < 8 && abs(Int(image.pixel(50, 50)[0]) - 128) < 6 && image.pixel(89, 50)[0] > 245)
  }

  @Test func aStrokeThatCrossesItselfDoesntGetDarkerAndTwoStrokesDo() {
    let half = line([(10, 50), (90, 50), (50, 10), (50, 90)], width: 10, opacity: 0.5)
    #expect(abs(Int(draw([half]).pixel(50, 50)[0]) - 128) <= 1)
    let two = draw([line([(10, 50), (90, 50)], width: 10, opacity: 0.5), line([(50, 10), (50, 90)], width: 10, opacity: 0.5)])
    #expect(abs(Int(two.pixel(50, 50)[0]) - 64) <= 1)
  }

  @Test func coloursLieOverEachOtherInOrder() {
    let red = line([(10, 50), (90, 50)], width: 10, color: .init(red: 1, green: 0, blue: 0))
    let blue = line([(50, 10), (50, 90)], width: 10, color: .init(red: 0, green: 0, blue: 1))
    #expect(draw([red, blue]).pixel(50, 50) == [0, 0, 255] && draw([blue, red]).pixel(50, 50) == [255, 0, 0])
  }

  @Test func theCanvasKeepsItsAspectInTheMiddle() {
    let image = draw([line([(0, 50), (100, 50)], width: 10)], width: 300, height: 100, canvas: CGSize(width: 100, height: 100))
    #expect(image.pixel(150, 50)[0] == 0 && image.pixel(80, 50)[0] == 255 && image.pixel(220, 50)[0] == 255)
  }

  @Test func aDotIsACircle() {
    let image = draw([line([(50, 50)], width: 20)])
    #expect(image.pixel(50, 50)[0] == 0 && image.pixel(58, 50)[0] == 0 && image.pixel(58, 58)[0] == 255)
  }

  @Test func nothingTraps() {
    let odd: [Double] = [.nan, .infinity, -.infinity, -1e300, 1e300, 0]
    for x in odd {
      for width in odd {
        _ = draw([PlaygroundDrawing.Stroke(points: [.init(x: x, y: 5, width: width, opacity: x), .init(x: 5, y: x, width: 1)])])
      }
    }
    let blank = plain(20, 20, [255, 255, 255])
    for canvas in [
      CGSize.zero, CGSize(width: -1, height: 5), CGSize(width: CGFloat.nan, height: 5),
      CGSize(width: CGFloat.infinity, height: 1),
    ] {
      #expect(draw([line([(1, 1), (9, 9)], width: 3)], width: 20, height: 20, canvas: canvas) == blank)
    }
    #expect(draw([], width: 20, height: 20) == blank && draw([.init(points: [])], width: 20, height: 20) == blank)
  }

  @Test func aDrawingOverASourceImageKeepsTheImage() async throws {
    let (system, backend) = try await scriptedSystem()
    let drawing = PlaygroundDrawing(strokes: [line([(20, 50), (80, 50)], width: 10)], canvas: CGSize(width: 100, height: 100))
    let creator = try await ImageCreator(system: system)
    let concepts: [ImagePlaygroundConcept] = [.text("a boat"), .drawing(drawing), .image(plain(512, 512, [10, 200, 10]))]
    for try await _ in creator.images(for: concepts, style: .sketch, limit: 1) {}
    let start = Bitmap(unitValues: try #require(backend.runs.last?.request.image))
    #expect(start.pixel(5, 5) == [10, 200, 10] && start.pixel(256, 256) == [0, 0, 0])
    #expect(backend.runs.last?.request.strength == 0.75)
  }
}

/// Backgrounds of glyphs.
struct BackgroundTests {
  private func disc(_ side: Int, radius: Double, hole: Double = 0, background: [UInt8] = [250, 250, 250]) -> Bitmap {
    var image = plain(side, side, background)
    for y in 0..<side {
      for x in 0..<side {
        let distance = hypot(Double(x) + 0.5 - Double(side) / 2, Double(y) + 0.5 - Double(side) / 2)
        if distance < radius, distance >= hole {
          image.samples.replaceSubrange(((y * side + x) * 3)..<((y * side + x) * 3 + 3), with: [200, 20, 20])
        }
      }
    }
    return image
  }

  private func alpha(_ image: Bitmap) -> [UInt8] { (0..<(image.width * image.height)).map { image.samples[$0 * 4 + 3] } }

  @Test func aPlainBackgroundGoesAndTheSubjectStays() {
    let image = BackgroundRemover().remove(from: disc(101, radius: 30))
    #expect(image.channels == 4 && image.pixel(50, 50) == [200, 20, 20, 255] && image.pixel(5, 5) == [0, 0, 0, 0])
    let opaque = Double(alpha(image).count { $0 > 0 })
    #expect(abs(opaque - .pi * 900) < 0.03 * .pi * 900)
  }

  @Test func aHoleWithinTheSubjectStays() {
    let image = BackgroundRemover().remove(from: disc(101, radius: 40, hole: 10))
    #expect(image.pixel(50, 50) == [250, 250, 250, 255] && image.pixel(50, 70)[3] == 255 && image.pixel(2, 2)[3] == 0)
  }

  @Test func anUnevenBackgroundIsAccepted() {
    var image = disc(101, radius: 30)
    for index in stride(from: 0, to: image.samples.count, by: 7) where image.samples[index] > 240 { image.samples[index] -= 8 }
    #expect(BackgroundRemover().remove(from: image).pixel(10, 10)[3] == 0)
  }

  @Test func withoutAPlainBackgroundTheCornersGo() {
    var noise = plain(96, 96)
    for index in noise.samples.indices { noise.samples[index] = UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 7) }
    for picture in [noise, plain(96, 96)] {
      let image = BackgroundRemover().remove(from: picture)
      #expect(image.pixel(0, 0)[3] == 0 && image.pixel(95, 0)[3] == 0 && image.pixel(48, 48)[3] == 255)
      #expect(image.pixel(48, 4)[3] == 255, "the middle of the sides stays")
    }
  }

  @Test(arguments: [1, 2, 3])
  func smallPicturesDontTrap(_ side: Int) throws {
    let glyph = try AdaptiveImageGlyph(picture: plain(side, side * 2), description: "a dot")
    #expect(glyph.side == side)
  }

  @Test func aGlyphIsNamedByItsPixels() throws {
    let one = try AdaptiveImageGlyph(picture: disc(80, radius: 20), description: "a")
    let same = try AdaptiveImageGlyph(picture: disc(80, radius: 20), description: "b")
    let other = try AdaptiveImageGlyph(picture: disc(80, radius: 21), description: "a")
    #expect(one.contentIdentifier == same.contentIdentifier && one.contentIdentifier != other.contentIdentifier)
    #expect(one.contentDescription == "a" && one.side == 80)
  }
}
