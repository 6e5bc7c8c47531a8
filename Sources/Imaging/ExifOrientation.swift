import Tensors

/// How a camera held the sensor: the EXIF tag 0x0112, 1...8.
enum ExifOrientation {
  /// The orientation in a TIFF block (the content of an `Exif` segment or an `eXIf` chunk); 1 when absent or damaged.
  static func orientation(inTIFF block: ArraySlice<UInt8>) -> Int {
    let isBigEndian = block.starts(with: [0x4d, 0x4d, 0, 42])
    guard isBigEndian || block.starts(with: [0x49, 0x49, 42, 0]) else { return 1 }
    let reader = ByteReader(block, isBigEndian: isBigEndian)
    guard let directory = reader.u32(at: 4), let count = reader.u16(at: directory) else { return 1 }
    for entry in 0..<count {
      let offset = directory + 2 + 12 * entry
      guard let tag = reader.u16(at: offset) else { return 1 }
      // The value of a single SHORT (type 3) lies in the entry itself.
      if tag == 0x0112, reader.u16(at: offset + 2) == 3, let value = reader.u16(at: offset + 8), (1...8).contains(value) {
        return value
      }
    }
    return 1
  }
}

extension Bitmap {
  /// The image as it's meant to be seen, for an EXIF orientation of 1...8; 1 and anything else change nothing.
  func upright(orientation: Int) -> Bitmap {
    guard (2...8).contains(orientation) else { return self }
    let swapsAxes = orientation >= 5
    let (newWidth, newHeight) = swapsAxes ? (height, width) : (width, height)
    var output = [UInt8](repeating: 0, count: samples.count)
    for y in 0..<newHeight {
      for x in 0..<newWidth {
        let (sourceX, sourceY) =
          switch orientation {
          case 2: (width - 1 - x, y)
          case 3: (width - 1 - x, height - 1 - y)
          case 4: (x, height - 1 - y)
          case 5: (y, x)
          case 6: (y, height - 1 - x)
          case 7: (width - 1 - y, height - 1 - x)
          default: (width - 1 - y, x)
          }
        let source = (sourceY * width + sourceX) * channels
        let target = (y * newWidth + x) * channels
        for channel in 0..<channels { output[target + channel] = samples[source + channel] }
      }
    }
    return Bitmap(width: newWidth, height: newHeight, channels: channels, samples: output)
  }
}
