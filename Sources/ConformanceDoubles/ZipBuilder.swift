public import Foundation

/// Writes zip archives without compression (APPNOTE.TXT 6.3, sections 4.3.7 and 4.3.12), hostile names included.
public struct ZipBuilder: Sendable {
  private var body = Data()
  private var directory = Data()
  private var count: UInt16 = 0

  /// Makes an empty archive.
  public init() {}

  /// Makes an archive of files.
  public static func archive(_ files: [(name: String, content: Data)]) -> Data {
    var builder = ZipBuilder()
    for file in files { builder.add(file.name, file.content) }
    return builder.data
  }

  /// Adds a file; the name is taken as it is.
  public mutating func add(_ name: String, _ content: Data) {
    let offset = UInt32(body.count)
    let path = Data(name.utf8)
    var fields = Data()
    // Version, flags (UTF-8 names), method, time, date.
    for value: UInt16 in [20, 0x0800, 0, 0, 0x0021] { fields.append(value) }
    for value in [Self.crc32(content), UInt32(content.count), UInt32(content.count)] { fields.append(value) }
    for value in [UInt16(path.count), 0] { fields.append(value) }
    body.append(UInt32(0x0403_4b50))
    body += fields + path + content
    directory.append(UInt32(0x0201_4b50))
    directory.append(UInt16(0x0314))
    directory += fields
    // Comment, disk, internal and external attributes: an ordinary file.
    for value: UInt16 in [0, 0, 0] { directory.append(value) }
    directory.append(UInt32(0o100644) << 16)
    directory.append(offset)
    directory += path
    count += 1
  }

  /// The archive.
  public var data: Data {
    var all = body + directory
    all.append(UInt32(0x0605_4b50))
    for value in [0, 0, count, count] { all.append(UInt16(value)) }
    all.append(UInt32(directory.count))
    all.append(UInt32(body.count))
    all.append(UInt16(0))
    return all
  }

  /// The checksum of zip and PNG, bit by bit.
  private static func crc32(_ data: Data) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in data {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
    }
    return ~sum
  }
}

extension Data {
  fileprivate mutating func append<Value: FixedWidthInteger>(_ value: Value) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }
}
