/// Text in YAML.
package enum YAML {
  /// A double-quoted scalar; it's a JSON string as well, which every YAML reader takes.
  package static func string(_ text: String) -> String {
    var output = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": output.append(contentsOf: ["\\", scalar])
      case "\n": output.append(contentsOf: ["\\", "n"])
      default:
        let isPlain =
          scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value) && ![0x2028, 0x2029, 0xfeff].contains(scalar.value)
        let hex = String(scalar.value, radix: 16)
        output.append(
          contentsOf: isPlain
            ? String(scalar).unicodeScalars : ("\\u" + String(repeating: "0", count: 4 - hex.count) + hex).unicodeScalars)
      }
    }
    output.append("\"")
    return String(output)
  }
}
