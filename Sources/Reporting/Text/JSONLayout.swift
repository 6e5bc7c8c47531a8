/// Cosmetics of JSON text.
enum JSONLayout {
  /// Puts arrays that hold only numbers and nulls on one line; `text` must be valid JSON.
  static func joiningNumberArrays(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var index = 0
    var isInString = false
    while index < bytes.count {
      let byte = bytes[index]
      if isInString {
        output.append(byte)
        index += 1
        if byte == UInt8(ascii: "\\"), index < bytes.count {
          output.append(bytes[index])
          index += 1
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      isInString = byte == UInt8(ascii: "\"")
      if byte == UInt8(ascii: "["), let end = endOfNumberArray(bytes, from: index + 1) {
        output.append(byte)
        for inner in bytes[(index + 1)..<end] where !isSpace(inner) {
          output.append(inner)
          if inner == UInt8(ascii: ",") { output.append(UInt8(ascii: " ")) }
        }
        index = end
        continue
      }
      output.append(byte)
      index += 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 10 || byte == 13 || byte == 9 }

  /// The place of the closing bracket when nothing but numbers, nulls and commas stands before it.
  private static func endOfNumberArray(_ bytes: [UInt8], from start: Int) -> Int? {
    let allowed = Set("0123456789+-.eEnul,".utf8)
    for index in start..<bytes.count {
      if bytes[index] == UInt8(ascii: "]") { return index }
      if !isSpace(bytes[index]), !allowed.contains(bytes[index]) { return nil }
    }
    return nil
  }
}
