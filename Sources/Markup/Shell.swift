/// Words of a command line for a POSIX shell.
package enum Shell {
  /// A word that the shell reads as it is; NUL, which no argument can hold, becomes U+FFFD.
  package static func word(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789-_=+./:,%@".unicodeScalars.contains(scalar))
    }
    if isPlain, !word.isEmpty { return word }
    var output = String.UnicodeScalarView("'".unicodeScalars)
    for scalar in word.unicodeScalars {
      switch scalar {
      case "'": output.append(contentsOf: "'\\''".unicodeScalars)
      case "\0": output.append("\u{fffd}")
      default: output.append(scalar)
      }
    }
    output.append("'")
    return String(output)
  }

  /// A whole command.
  package static func command(_ words: [String]) -> String { words.map(word).joined(separator: " ") }

  /// Text within a here-document whose variables are expanded, as it is.
  package static func hereDocument(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.flatMap { ["\\", "$", "`"].contains($0) ? ["\\", $0] : [$0] }))
  }
}
