import Foundation
import Goldens
import Imaging
import Tensors
import TestSupport
import Testing

extension GoldenCase {
  /// A `[H, W, C]` tensor of whole numbers as an image.
  fileprivate func bitmap(_ name: String) throws -> Bitmap {
    let tensor = try tensor(name)
    return Bitmap(
      width: tensor.shape[1], height: tensor.shape[0], channels: tensor.shape[2], samples: tensor.elements.map { UInt8($0) })
  }
}

/// Where two images part first.
private func difference(_ actual: Bitmap, _ expected: Bitmap) -> String? {
  guard actual.width == expected.width, actual.height == expected.height, actual.channels == expected.channels else {
    return "size: expected \(expected.width)x\(expected.height)x\(expected.channels), "
      + "found \(actual.width)x\(actual.height)x\(actual.channels)"
  }
  guard let index = zip(actual.samples, expected.samples).enumerated().first(where: { $1.0 != $1.1 })?.offset else { return nil }
  let pixel = index / expected.channels
  return "sample \(index % expected.channels) at (\(pixel % expected.width), \(pixel / expected.width)): "
    + "expected \(expected.samples[index]), found \(actual.samples[index])"
}

@Suite struct ImagingGoldenTests {
  @Test(arguments: try Fixtures.cases(in: "imaging/resize"))
  func resizeEqualsPillow(golden: GoldenCase) throws {
    struct Attributes: Decodable {
      var filter: String
      var width: Int
      var height: Int
    }
    let attributes = try golden.attributes(Attributes.self)
    let filter = try #require(Resample.Filter(rawValue: attributes.filter))
    let resized = Resample.resize(
      try golden.bitmap("input.image"), width: attributes.width, height: attributes.height, filter: filter)
    #expect(difference(resized, try golden.bitmap("output.image")) == nil)
  }

  @Test(arguments: try Fixtures.cases(in: "imaging/clip-crop"))
  func shortestEdgeAndCenterCropEqualTheCLIPProcessor(golden: GoldenCase) throws {
    struct Attributes: Decodable { var edge: Int }
    let edge = try golden.attributes(Attributes.self).edge
    let cropped = Resample.shortestEdge(try golden.bitmap("input.image"), to: edge, filter: .bicubic)
      .centerCropped(width: edge, height: edge)
    #expect(difference(cropped, try golden.bitmap("output.image")) == nil)
  }

  @Test(arguments: try Fixtures.cases(in: "imaging/files"))
  func decodedFilesEqualPillow(golden: GoldenCase) throws {
    let bitmap = try ImageFile.read(path: golden.folder.appendingPathComponent("image.bin").path)
    #expect(difference(bitmap, try golden.bitmap("output.image")) == nil)
  }

  @Test(arguments: try Fixtures.cases(in: "imaging/colour"))
  func colourConversionsEqualPillow(golden: GoldenCase) throws {
    let input = try golden.bitmap("input.image")
    let converted = golden.op == "grey" ? input.grey() : input.rgbOnWhite()
    #expect(difference(converted, try golden.bitmap("output.image")) == nil)
  }

  @Test func thereAreGoldensOfEveryKind() throws {
    #expect(try Fixtures.cases(in: "imaging/resize").count == 42)
    #expect(try Fixtures.cases(in: "imaging/files").count == 30)
    #expect(try Fixtures.cases(in: "imaging/clip-crop").count == 5)
    #expect(try Fixtures.cases(in: "imaging/colour").count == 2)
  }
}

@Suite struct CroppingTests {
  private let image = Bitmap(width: 3, height: 2, channels: 1, samples: [1, 2, 3, 4, 5, 6])

  @Test func cropInside() {
    #expect(image.cropped(x: 1, y: 0, width: 2, height: 2).samples == [2, 3, 5, 6])
  }

  @Test func cropBeyondTheEdgesIsBlack() {
    #expect(image.cropped(x: -1, y: -1, width: 3, height: 2).samples == [0, 0, 0, 0, 1, 2])
    #expect(image.cropped(x: 2, y: 1, width: 2, height: 2).samples == [6, 0, 0, 0])
    #expect(image.cropped(x: 7, y: 7, width: 2, height: 1).samples == [0, 0])
    #expect(image.cropped(x: -9, y: 0, width: 2, height: 1).samples == [0, 0])
  }

  @Test func centerCropOfASmallerImagePadsTheLargerPartInFront() {
    let padded = image.centerCropped(width: 4, height: 3)
    #expect(padded.samples == [0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6])
  }

  @Test func greyAndAlphaBecomeRGB() {
    let image = Bitmap(width: 2, height: 1, channels: 2, samples: [10, 255, 10, 0])
    #expect(image.rgbOnWhite().samples == [10, 10, 10, 255, 255, 255])
  }
}
