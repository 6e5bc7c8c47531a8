/// Tells what is certainly no model.
enum ContentSanity {
  static func problem(_ head: [UInt8], of file: ModelFileDescriptor) -> String? {
    let text = String(decoding: head, as: UTF8.self).lowercased().drop { $0.isWhitespace }
    let name = file.filename.lowercased()
    if !name.hasSuffix(".html"), !name.hasSuffix(".htm"), text.hasPrefix("<!doctype html") || text.hasPrefix("<html") {
      return "a page of HTML arrived in place of the file; does the network want a login?"
    }
    if text.hasPrefix("version https://git-lfs.github.com/spec/") {
      return "a pointer of Git LFS arrived in place of the file; use the address that gives the content"
    }
    if name.hasSuffix(".gguf"), head.count >= 4, head[..<4] != [0x47, 0x47, 0x55, 0x46] {
      return "expected a GGUF file, found something that doesn't begin with GGUF"
    }
    return nil
  }
}
