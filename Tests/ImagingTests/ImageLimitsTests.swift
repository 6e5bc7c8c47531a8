import Foundation
import Imaging
import Tensors
import TestSupport
import Testing

/// Images that are small as files and large, or long, as work.
@Suite struct ImageLimitsTests {
  /// A JPEG that says that it's `side` pixels wide and high and has so many scans.
  private func progressive(side: Int, scans: Int) -> [UInt8] {
    let size = [UInt8(side >> 8), UInt8(side & 255)]
    var bytes: [UInt8] = [0xff, 0xd8, 0xff, 0xdb, 0, 67, 0] + Array(repeating: 1, count: 64)
    bytes += [0xff, 0xc2, 0, 11, 8] + size + size + [1, 1, 0x11, 0]
    bytes += [0xff, 0xc4, 0, 20, 0, 1] + Array(repeating: 0, count: 15) + [0]
    bytes += [0xff, 0xc4, 0, 20, 0x10, 1] + Array(repeating: 0, count: 15) + [0]
    for scan in 0..<scans {
      // First the DC values, then one AC value over and over.
      bytes += [0xff, 0xda, 0, 8, 1, 1, 0, scan == 0 ? 0 : 1, scan == 0 ? 0 : 1, 0]
      bytes += Array(repeating: 0, count: 8)
    }
    return bytes + [0xff, 0xd9]
  }

  @Test(arguments: [(8, 501), (8, 10_000), (8000, 40), (32_000, 2)])
  func tooManyScansAreRefusedBeforeTheyreDecoded(_ side: Int, _ scans: Int) {
    let error = #expect(throws: ImageError.self) { try JPEGFile.decode(progressive(side: side, scans: scans)) }
    #expect(error?.code == .unsupported, "\(error?.description ?? "")")
  }

  @Test func fewScansAreDecodedOrFoundDamaged() throws {
    do {
      let image = try JPEGFile.decode(progressive(side: 8, scans: 3))
      #expect(image.width == 8 && image.height == 8)
    } catch { #expect(error.code == .invalid) }
  }

  @Test func sizesWhoseProductOverflowsAreRefused() throws {
    for (width, height) in [(0x7fff_ffff, 0x7fff_ffff), (0xffff_ffff, 0xffff_ffff), (32_768, 32_768), (1, 1 << 30)] {
      func big(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }
      let data = big(width) + big(height) + [8, 2, 0, 0, 0]
      let bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + chunk("IHDR", data) + chunk("IEND", [])
      let error = #expect(throws: ImageError.self) { try ImageFile.decode(bytes) }
      #expect(error?.code == .unsupported, "\(width)x\(height)")
    }
  }

  private func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    var crc: UInt32 = 0xffff_ffff
    for byte in Array(type.utf8) + data {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
    }
    func big(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    return big(UInt32(data.count)) + Array(type.utf8) + data + big(crc ^ 0xffff_ffff)
  }

  @Test func pngsOfChunksAreLimited() {
    let head = chunk("IHDR", [0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])
    let many = Array(repeatElement(chunk("teXt", []), count: (1 << 18) + 1).joined())
    let bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + head + many + chunk("IEND", [])
    let error = #expect(throws: ImageError.self) { try ImageFile.decode(bytes) }
    #expect(error?.code == .unsupported)
  }

  @Test func pipesAndLinksAreRead() throws {
    let folder = try TemporaryFolder()
    let image = Bitmap(width: 3, height: 2, samples: (0..<18).map { UInt8($0) })
    let png = try PNGFile.encode(image)
    _ = try folder.write(png, to: "a.png")
    try FileManager.default.createSymbolicLink(atPath: folder.path("b.png"), withDestinationPath: "a.png")
    #expect(try ImageFile.read(path: folder.path("b.png")) == image)
    // A link's own size isn't that of the file.
    let error = #expect(throws: ImageError.self) {
      try ImageFile.read(path: folder.path("b.png"), limits: ImageLimits(bytes: png.count - 1))
    }
    #expect(error?.code == .unsupported)
    #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
    let path = folder.path("pipe")
    Thread.detachNewThread {
      guard let handle = FileHandle(forWritingAtPath: path) else { return }
      handle.write(Data(png))
      try? handle.close()
    }
    #expect(try ImageFile.read(path: path) == image)
  }

  @Test func whatIsNoImageIsntReadToItsEnd() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("large.bin")
    _ = FileManager.default.createFile(atPath: path, contents: Data("not an image at all".utf8))
    // A sparse file of 400 MB.
    #expect(truncate(path, 400 << 20) == 0)
    let error = #expect(throws: ImageError.self) { try ImageFile.read(path: path) }
    #expect(error?.code == .invalid && error?.message.contains("not an image") == true)
  }
}
