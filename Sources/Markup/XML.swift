/// Text in XML 1.0 and HTML, as content and within double-quoted attributes.
///
/// Scalar by scalar: a quote that a combining mark follows is one character, but it ends an attribute all the same.
package enum XML {
  /// Text between tags; control characters that XML can't hold become U+FFFD.
  package static func text(_ text: String) -> String { escaped(text, lineBreaks: false) }

  /// The value of an attribute in double quotes; line breaks and tabs are kept, which parsers would turn into spaces.
  package static func attribute(_ text: String) -> String { escaped(text, lineBreaks: true) }

  private static func escaped(_ text: String, lineBreaks: Bool) -> String {
    var output = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": output.append(contentsOf: "&amp;".unicodeScalars)
      case "<": output.append(contentsOf: "&lt;".unicodeScalars)
      case ">": output.append(contentsOf: "&gt;".unicodeScalars)
      case "\"": output.append(contentsOf: "&quot;".unicodeScalars)
      case "'": output.append(contentsOf: "&#39;".unicodeScalars)
      case "\r": output.append(contentsOf: "&#13;".unicodeScalars)
      case "\n" where lineBreaks, "\t" where lineBreaks: output.append(contentsOf: "&#\(scalar.value);".unicodeScalars)
      case "\n", "\t": output.append(scalar)
      default: output.append(scalar.value < 0x20 || (0xfffe...0xffff).contains(scalar.value) ? "\u{fffd}" : scalar)
      }
    }
    return String(output)
  }
}
