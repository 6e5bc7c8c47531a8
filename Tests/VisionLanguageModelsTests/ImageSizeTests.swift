import Goldens
import TestSupport
import Testing

@testable import VisionLanguageModels

/// The sizes that images are brought to, with the parameters of published models.
struct ImageSizeTests {
  struct Attributes: Decodable {
    struct Tiling: Decodable {
      var edge: Int
      var tile: Int
      var first: [Int]
      var second: [Int]
    }
    struct Size: Decodable {
      var width: Int
      var height: Int
      var idefics3: [Tiling]
      var qwen2vl: [Int]?
    }
    var sizes: [Size]
  }

  @Test(arguments: try Fixtures.cases(in: "vlm/sizes"))
  func sizes(_ golden: GoldenCase) throws {
    let sizes = try golden.attributes(Attributes.self).sizes
    #expect(sizes.count > 60)
    for size in sizes {
      for tiling in size.idefics3 {
        let first = Idefics3ImageProcessor.longestEdgeSize(width: size.width, height: size.height, edge: tiling.edge)
        #expect([first.height, first.width] == tiling.first, "\(size.width)x\(size.height) to \(tiling.edge)")
        let second = Idefics3ImageProcessor.wholeTiles(width: first.width, height: first.height, tile: tiling.tile)
        // Where transformers arrives at a side of 0, which it then refuses, one tile is taken here.
        #expect([second.height, second.width] == tiling.second.map { max($0, tiling.tile) })
      }
      let resized = try? Qwen2VLImageProcessor.smartResize(
        width: size.width, height: size.height, factor: 28, minPixels: 56 * 56, maxPixels: 28 * 28 * 1280)
      #expect(resized.map { [$0.height, $0.width] } == size.qwen2vl, "\(size.width)x\(size.height)")
    }
  }

  @Test func halvesAreRoundedToEven() throws {
    let resized = try Qwen2VLImageProcessor.smartResize(width: 70, height: 126, factor: 28, minPixels: 1, maxPixels: 1 << 20)
    #expect(resized.width == 56)
    #expect(resized.height == 112)
  }
}
