import Foundation
import Imaging
import Tensors
import TestSupport
import Testing

/// Bytes of a PNG chunk with a right CRC.
private func chunk(_ type: String, _ data: [UInt8], spoilsCRC: Bool = false) -> [UInt8] {
  func number(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
  var crc: UInt32 = .max
  for byte in Array(type.utf8) + data {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
  }
  return number(UInt32(data.count)) + type.utf8 + data + number(spoilsCRC ? crc : ~crc)
}

private let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

private func noise(width: Int, height: Int, channels: Int) -> Bitmap {
  var random = TestRandom(seed: UInt64(width * 31 + height * 7 + channels))
  return Bitmap(
    width: width, height: height, channels: channels,
    samples: (0..<(width * height * channels)).map { _ in UInt8.random(in: 0...255, using: &random) })
}

@Suite struct PNGFileTests {
  @Test(arguments: [(1, 1), (7, 3), (64, 64), (301, 2)], [3, 4])
  func whatIsEncodedIsDecoded(size: (Int, Int), channels: Int) throws {
    let image = noise(width: size.0, height: size.1, channels: channels)
    #expect(try PNGFile.decode(PNGFile.encode(image)) == image)
  }

  @Test func greyIsStoredAsGreyAndReadAsRGB() throws {
    let image = noise(width: 9, height: 5, channels: 1)
    let bytes = try PNGFile.encode(image)
    #expect(bytes[25] == 0, "colour type 0 is grey")
    #expect(try PNGFile.decode(bytes) == image.rgbOnWhite())
  }

  @Test func incompressibleImagesFit() throws {
    let image = noise(width: 700, height: 500, channels: 3)
    #expect(try PNGFile.decode(PNGFile.encode(image)) == image)
  }

  @Test func theSameImageGivesTheSameBytes() throws {
    let image = noise(width: 33, height: 17, channels: 3)
    let texts = [PNGFile.Text("parameters", "a cat\nSteps: 20")]
    #expect(try PNGFile.encode(image, texts: texts) == PNGFile.encode(image, texts: texts))
  }

  @Test func textsAreReadBack() throws {
    let texts = [
      PNGFile.Text("parameters", "a café\nNegative prompt: blur\nSteps: 20"), PNGFile.Text("Comment", "日本語 🐈"),
      PNGFile.Text("empty", ""),
    ]
    let bytes = try PNGFile.encode(noise(width: 4, height: 4, channels: 3), texts: texts)
    #expect(try PNGFile.texts(in: bytes) == texts)
    // Latin-1 goes into a tEXt chunk of its own bytes, right after the 25-byte header chunk.
    #expect(String(decoding: bytes[37..<41], as: UTF8.self) == "tEXt")
    #expect(Array(bytes[41..<52]) == Array("parameters".utf8) + [0])
    #expect(bytes.contains(0xe9))
    _ = try PNGFile.decode(bytes)
  }

  @Test(arguments: ["", String(repeating: "k", count: 80), "new\nline", "日本"])
  func badKeywordsAreRefused(keyword: String) {
    #expect(throws: ImageError.self) {
      try PNGFile.encode(noise(width: 1, height: 1, channels: 3), texts: [PNGFile.Text(keyword, "x")])
    }
  }

  @Test func anEmptyImageIsRefused() {
    #expect(throws: ImageError.self) { try PNGFile.encode(Bitmap(width: 0, height: 3, samples: [])) }
  }

  @Test func everyTruncationIsRefused() throws {
    let bytes = try PNGFile.encode(noise(width: 6, height: 6, channels: 3))
    for count in 0..<bytes.count {
      let error = #expect(throws: ImageError.self) { try PNGFile.decode(Array(bytes[..<count])) }
      #expect(error?.code == .invalid)
    }
  }

  @Test func everyFlippedByteIsRefusedOrHarmless() throws {
    let image = noise(width: 5, height: 4, channels: 3)
    let bytes = try PNGFile.encode(image)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x5a
      // Ancillary chunks may be lost; the pixels must never be wrong.
      if let decoded = try? PNGFile.decode(damaged) { #expect(decoded == image, "byte \(index)") }
    }
  }

  @Test func aWrongChecksumNamesTheChunk() throws {
    var bytes = signature
    bytes += chunk("IHDR", [0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0], spoilsCRC: true)
    bytes += chunk("IEND", [])
    let error = #expect(throws: ImageError.self) { try PNGFile.decode(bytes) }
    #expect(error?.message.contains("IHDR") == true)
  }

  @Test(arguments: [
    ([0, 0, 0, 0, 0, 0, 0, 1], ImageError.Code.invalid), ([0, 0, 0, 1, 0, 0, 0, 0], .invalid),
    ([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1], .unsupported), ([0, 0, 0x70, 0, 0, 0, 0x70, 0], .unsupported),
    ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], .unsupported),
  ])
  func absurdSizesAreRefusedBeforeAnyMemoryIsTaken(size: [UInt8], code: ImageError.Code) {
    let bytes = signature + chunk("IHDR", size + [8, 2, 0, 0, 0]) + chunk("IDAT", [0]) + chunk("IEND", [])
    let error = #expect(throws: ImageError.self) { try PNGFile.decode(bytes) }
    #expect(error?.code == code)
    #expect(error?.message.contains("size") == true)
  }

  @Test func missingImageDataIsRefused() {
    let header = chunk("IHDR", [0, 0, 0, 4, 0, 0, 0, 4, 8, 2, 0, 0, 0])
    #expect(throws: ImageError.self) { try PNGFile.decode(signature + header + chunk("IEND", [])) }
    #expect(throws: ImageError.self) { try PNGFile.decode(signature + header + chunk("IDAT", []) + chunk("IEND", [])) }
    #expect(throws: ImageError.self) { try PNGFile.decode(signature + chunk("IDAT", [1, 2]) + chunk("IEND", [])) }
  }

  @Test func impossibleColourTypesAreRefused() {
    let header = chunk("IHDR", [0, 0, 0, 4, 0, 0, 0, 4, 7, 9, 0, 0, 0])
    #expect(throws: ImageError.self) { try PNGFile.decode(signature + header + chunk("IDAT", [0]) + chunk("IEND", [])) }
  }
}

@Suite struct ImageFileTests {
  private static func temporaryFile(_ bytes: [UInt8]) throws -> String {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("imaging-\(UUID().uuidString)")
    try Data(bytes).write(to: url)
    return url.path
  }

  @Test func aMissingFileIsNamed() {
    let error = #expect(throws: ImageError.self) { try ImageFile.read(path: "/nowhere/cat.png") }
    #expect(error?.code == .missing)
    #expect(error?.description.contains("/nowhere/cat.png") == true)
  }

  @Test func aFolderIsRefused() {
    let error = #expect(throws: ImageError.self) { try ImageFile.read(path: FileManager.default.temporaryDirectory.path) }
    #expect(error?.code == .invalid)
  }

  @Test(arguments: [
    (Array("GIF89a......".utf8), "GIF"), (Array("RIFF1234WEBPVP8 ".utf8), "WebP"), (Array("BM000000".utf8), "BMP"),
    (Array("<svg></svg>".utf8), "not an image"), ([], "empty"), ([0xff], "not an image"), ([0x89, 0x50], "not an image"),
  ])
  func otherKindsAreNamed(bytes: [UInt8], word: String) throws {
    let path = try Self.temporaryFile(bytes)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let error = #expect(throws: ImageError.self) { try ImageFile.read(path: path) }
    #expect(error?.message.contains(word) == true)
  }

  @Test(arguments: ["jpeg-420", "jpeg-progressive", "jpeg-cmyk", "jpeg-exif-6"])
  func everyTruncationOfAJPEGIsRefused(name: String) throws {
    let file = Fixtures.folder.appendingPathComponent("imaging/files/\(name)/image.bin")
    let bytes = [UInt8](try Data(contentsOf: file))
    // The last two bytes are the end mark, without which the pixels may already be whole.
    for count in stride(from: 0, to: bytes.count - 2, by: 7) {
      #expect(throws: ImageError.self, "\(count) of \(bytes.count) bytes") { try ImageFile.decode(Array(bytes[..<count])) }
    }
  }

  @Test func damagedJPEGsNeverTrap() throws {
    var random = TestRandom(seed: 9)
    for name in ["jpeg-422", "jpeg-exif-8", "jpeg-cmyk"] {
      let file = Fixtures.folder.appendingPathComponent("imaging/files/\(name)/image.bin")
      let bytes = [UInt8](try Data(contentsOf: file))
      for _ in 0..<300 {
        var damaged = bytes
        for _ in 0..<3 { damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(in: 0...255, using: &random) }
        _ = try? ImageFile.decode(damaged, limits: ImageLimits(side: 4096, pixels: 1_000_000))
      }
    }
  }

  @Test func limitsHoldForJPEGToo() throws {
    let file = Fixtures.folder.appendingPathComponent("imaging/files/jpeg-444/image.bin")
    let error = #expect(throws: ImageError.self) { try ImageFile.read(path: file.path, limits: ImageLimits(side: 40)) }
    #expect(error?.code == .unsupported)
  }
}
