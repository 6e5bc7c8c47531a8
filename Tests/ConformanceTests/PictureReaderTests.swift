import ConformanceDoubles
import Imaging
import Tensors
import Testing

@testable import Conformance

/// What ``PictureReader`` sees in pictures whose contents are known.
@Suite struct PictureReaderTests {
  private func paint(_ prompt: String, width: Int = 512, height: Int = 512) -> Bitmap {
    ShapePainter(prompt: prompt, seed: 5).bitmap(width: width, height: height)
  }

  @Test(arguments: ShapeKind.allCases, ["small", "", "large"])
  func namesEveryOutline(_ kind: ShapeKind, _ size: String) throws {
    for side in [256, 512] {
      let contents = PictureReader.read(paint("a \(size) red \(kind.rawValue) on a blue background", width: side, height: side))
      #expect(contents.ground == .blue)
      #expect(contents.shapes.count == 1)
      let shape = try #require(contents.shapes.first)
      #expect(shape.kind == kind)
      #expect(shape.colour == .red)
      #expect(abs(shape.x - 0.5) < 0.06)
      #expect(abs(shape.y - 0.5) < 0.09)
    }
  }

  @Test func namesEveryColourOnEveryOther() {
    for ground in ColourName.allCases {
      for colour in ColourName.allCases where colour != ground {
        let contents = PictureReader.read(
          paint("a large \(colour.rawValue) circle on a \(ground.rawValue) background", width: 128, height: 128))
        #expect(contents.ground == ground)
        #expect(contents.shapes.first?.colour == colour, "\(colour) on \(ground)")
      }
    }
  }

  @Test func tellsPlacesAndNumbers() throws {
    let corner = try #require(PictureReader.read(paint("a green star in the bottom left on a white background")).shapes.first)
    #expect(corner.x < 0.45)
    #expect(corner.y > 0.55)
    #expect(PictureReader.read(paint("two red circles on a white background")).shapes.count == 2)
    #expect(PictureReader.read(paint("three blue squares on a white background")).shapes.count == 3)
    #expect(PictureReader.read(paint("nothing on a black background")).shapes.isEmpty)
  }

  @Test func takesAnyPicture() {
    #expect(PictureReader.read(Bitmap(width: 0, height: 0, samples: [])).shapes.isEmpty)
    #expect(PictureReader.read(Bitmap(width: 1, height: 1, samples: [250, 250, 250])).ground == .white)
    #expect(PictureReader.read(Bitmap(width: 3, height: 1, channels: 1, samples: [0, 255, 0])).ground == .black)
    let noise = ScriptedImage.pattern(seed: 3, width: 200, height: 90)
    for shape in PictureReader.read(noise).shapes { #expect((0...1).contains(shape.area)) }
    // Grey with alpha: what is transparent is white.
    #expect(PictureReader.read(Bitmap(width: 2, height: 2, channels: 2, samples: [0, 0, 0, 0, 0, 0, 0, 0])).ground == .white)
  }

  @Test func namesTheBordersBetweenColours() {
    #expect(ColourName(red: 0, green: 0, blue: 0) == .black)
    #expect(ColourName(red: 255, green: 255, blue: 255) == .white)
    #expect(ColourName(red: 128, green: 128, blue: 128) == .gray)
    #expect(ColourName(red: 255, green: 0, blue: 0) == .red)
    #expect(ColourName(red: 255, green: 0, blue: 10) == .red)
    #expect(ColourName(red: 255, green: 165, blue: 0) == .orange)
    #expect(ColourName(red: 255, green: 255, blue: 0) == .yellow)
    #expect(ColourName(red: 0, green: 128, blue: 0) == .green)
    #expect(ColourName(red: 0, green: 0, blue: 255) == .blue)
    #expect(ColourName(red: 128, green: 0, blue: 128) == .purple)
    #expect(ColourName(red: 255, green: 192, blue: 203) == .pink)
  }

  @Test func expectationsScoreWhatTheySay() {
    for expectation in Expectation.central + Expectation.placed {
      let score = expectation.score(PictureReader.read(paint(expectation.prompt)))
      let all = [score.kind, score.colour, score.ground, score.place]
      #expect(all == [true, true, true, true], "\(expectation.prompt)")
    }
    let wrong = Expectation.central[0].score(PictureReader.read(paint("a large blue square on a red background")))
    #expect([wrong.kind, wrong.colour, wrong.ground] == [false, false, false])
    let nothing = Expectation.central[0].score(PictureContents(ground: .blue, shapes: []))
    #expect([nothing.kind, nothing.ground, nothing.place] == [false, true, false])
  }
}
