/// Text in GitHub's Markdown.
package enum Markdown {
  /// Text on one line that is shown as it is: in a cell of a table, a heading, a sentence.
  ///
  /// Line breaks become spaces. Underscores within words stay, as they mean nothing there.
  package static func text(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var output = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      func isNext(_ wanted: Set<Unicode.Scalar>, orLetter: Bool = false) -> Bool {
        guard index + 1 < scalars.count else { return false }
        let next = scalars[index + 1]
        return wanted.contains(next) || orLetter && next.isASCII && next.properties.isAlphabetic
      }
      switch scalar {
      case "&" where isNext(["#"], orLetter: true): output.append(contentsOf: "&amp;".unicodeScalars)
      case "<" where isNext(["/", "!", "?"], orLetter: true): output.append(contentsOf: "&lt;".unicodeScalars)
      case "\\", "`", "*", "|", "~": output.append(contentsOf: ["\\", scalar])
      case "_":
        let isInside = index > 0 && isWord(scalars[index - 1]) && index + 1 < scalars.count && isWord(scalars[index + 1])
        output.append(contentsOf: isInside ? ["_"] : ["\\", "_"])
      case "]" where isNext(["(", "["]):
        output.append(contentsOf: ["\\", "]"])
      default: output.append(OneLine.scalar(scalar))
      }
    }
    return String(output)
  }

  /// Text as code in a cell of a table.
  ///
  /// Backticks fence it, one more than the longest row of them within; a pipe needs its backslash even there.
  package static func code(_ text: String) -> String {
    var (longest, row) = (0, 0)
    var body = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      row = scalar == "`" ? row + 1 : 0
      longest = max(longest, row)
      if scalar == "|" { body.append("\\") }
      body.append(OneLine.scalar(scalar))
    }
    let fence = String(repeating: "`", count: longest + 1)
    // One space on each side is dropped when the text is shown.
    return longest > 0 ? "\(fence) \(String(body)) \(fence)" : fence + String(body) + fence
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
  }
}

/// Text on one line.
enum OneLine {
  /// The scalar; a space for what breaks lines, U+FFFD for other control characters.
  static func scalar(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    case 0x09...0x0d, 0x85, 0x2028, 0x2029: " "
    case 0..<0x20, 0x7f: "\u{fffd}"
    default: scalar
    }
  }

  /// The whole text.
  static func text(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map(scalar)))
  }
}
