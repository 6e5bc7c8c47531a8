internal import CTurboJPEG
public import Tensors

/// JPEG images through libjpeg-turbo.
public enum JPEGFile {
  /// Decodes a baseline or progressive JPEG: grey, colour, or CMYK (converted as Pillow does).
  ///
  /// The EXIF orientation is honoured; colour profiles aren't applied.
  ///
  /// - Returns: 3 channels.
  /// - Throws: ``ImageError``: not a JPEG, damaged, cut off, beyond the limits.
  public static func decode(_ bytes: [UInt8], file: String = "JPEG data", limits: ImageLimits = ImageLimits())
    throws(ImageError) -> Bitmap
  {
    guard bytes.starts(with: [0xff, 0xd8]) else {
      throw ImageError(.invalid, file: file, "not a JPEG: it doesn't begin with FF D8")
    }
    guard let decoder = tjInitDecompress() else {
      throw ImageError(.unsupported, file: file, "libjpeg-turbo can't be started: \(message(of: nil))")
    }
    defer { tjDestroy(decoder) }
    var (width, height, subsampling, colourSpace) = (Int32(0), Int32(0), Int32(0), Int32(0))
    guard
      tjDecompressHeader3(decoder, bytes, UInt(bytes.count), &width, &height, &subsampling, &colourSpace) == 0
        || tjGetErrorCode(decoder) == Int32(TJERR_WARNING.rawValue)
    else { throw ImageError(.invalid, file: file, "not a readable JPEG: \(message(of: decoder))") }
    try limits.check(width: Int(width), height: Int(height), file: file)

    let markers = Markers(bytes)
    let isCMYK = colourSpace == Int32(TJCS_CMYK.rawValue) || colourSpace == Int32(TJCS_YCCK.rawValue)
    let channels = isCMYK ? 4 : 3
    let format = Int32(isCMYK ? TJPF_CMYK.rawValue : TJPF_RGB.rawValue)
    try limits.check(scans: markers.scans, width: Int(width), height: Int(height), file: file)
    try limits.requireMemory(width: Int(width), height: Int(height), channels: channels, file: file)
    var samples = [UInt8](repeating: 0, count: Int(width) * Int(height) * channels)
    if tjDecompress2(decoder, bytes, UInt(bytes.count), &samples, width, width * Int32(channels), height, format, 0) != 0 {
      let reason = message(of: decoder)
      // Cameras leave stray bytes between segments; every other complaint means wrong pixels.
      guard tjGetErrorCode(decoder) == Int32(TJERR_WARNING.rawValue), reason.contains("extraneous bytes") else {
        throw ImageError(.invalid, file: file, "the JPEG's image data is damaged or cut off: \(reason)")
      }
    }
    if isCMYK { samples = rgb(fromCMYK: samples, isInverted: markers.hasAdobe) }
    return Bitmap(width: Int(width), height: Int(height), channels: 3, samples: samples)
      .upright(orientation: markers.orientation)
  }

  /// What the segments before the image data say, and how many scans the data has.
  private struct Markers {
    var orientation = 1
    var hasAdobe = false
    var scans = 0

    init(_ bytes: [UInt8]) {
      let reader = ByteReader(bytes[...])
      var offset = 2
      while let marker = reader.u16(at: offset), marker >= 0xff00, marker != 0xffda {
        // A run of FF bytes may stand before a marker.
        if marker == 0xffff {
          offset += 1
          continue
        }
        guard let length = reader.u16(at: offset + 2), length >= 2, offset + 2 + length <= bytes.count else { return }
        let segment = bytes[(offset + 4)..<(offset + 2 + length)]
        if marker == 0xffe1, segment.starts(with: Array("Exif".utf8) + [0, 0]) {
          orientation = ExifOrientation.orientation(inTIFF: segment.dropFirst(6))
        }
        if marker == 0xffee, segment.starts(with: "Adobe".utf8) { hasAdobe = true }
        offset += 2 + length
      }
      // From the first scan on: within its data, FF stands before 00 or a restart only.
      bytes.withUnsafeBufferPointer { bytes in
        var index = offset
        while index + 1 < bytes.count {
          if bytes[index] == 0xff, bytes[index + 1] == 0xda { scans += 1 }
          index += 1
        }
      }
    }
  }

  /// `white − key` scaled down by the ink: no colour management, as Pillow's `convert("RGB")`.
  private static func rgb(fromCMYK samples: [UInt8], isInverted: Bool) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: samples.count / 4 * 3)
    for pixel in 0..<(samples.count / 4) {
      func ink(_ channel: Int) -> Int {
        let value = Int(samples[pixel * 4 + channel])
        return isInverted ? 255 - value : value
      }
      let light = 255 - ink(3)
      for channel in 0..<3 {
        output[pixel * 3 + channel] = UInt8(clamping: light - (ink(channel) * light + 127) / 255)
      }
    }
    return output
  }

  private static func message(of decoder: tjhandle?) -> String {
    guard let text = tjGetErrorStr2(decoder) else { return "no reason given" }
    return String(cString: text)
  }
}
