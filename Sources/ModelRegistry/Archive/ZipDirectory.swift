import Foundation

/// The end of a zip file, which tells how large its directory is (APPNOTE 4.3.16, 4.3.14).
enum ZipDirectory {
  /// Bytes that a reader of the directory may have to go through; nil when the file isn't a zip file that tells.
  static func size(of file: URL) -> Int? {
    guard let size = FileTree.size(file), let handle = FileHandle(forReadingAtPath: file.path) else { return nil }
    defer { try? handle.close() }
    // The last record may have a comment of 65,535 bytes behind it.
    let tailStart = max(0, size - 22 - 65_535)
    guard let tail = read(handle, at: tailStart, 22 + 65_535), tail.count >= 22,
      let end = (0...(tail.count - 22)).last(where: { tail[$0...].starts(with: [0x50, 0x4b, 5, 6]) })
    else { return nil }
    var (length, offset) = (number(tail, end + 12, 4), number(tail, end + 16, 4))
    if length == 0xffff_ffff || offset == 0xffff_ffff, end >= 20, tail[(end - 20)...].starts(with: [0x50, 0x4b, 6, 7]),
      let large = read(handle, at: number(tail, end - 12, 8), 56), large.count == 56
    {
      (length, offset) = (number(large, 40, 8), number(large, 48, 8))
    }
    return max(length, size.addingClamped(-offset))
  }

  private static func read(_ handle: FileHandle, at offset: Int, _ count: Int) -> [UInt8]? {
    guard (try? handle.seek(toOffset: UInt64(offset))) != nil, let data = try? handle.read(upToCount: count) else { return nil }
    return [UInt8](data)
  }

  /// A little-endian number, or the largest one.
  private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int {
    var value: UInt64 = 0
    for index in (0..<count).reversed() { value = value << 8 | UInt64(bytes[start + index]) }
    return Int(clamping: value)
  }
}
