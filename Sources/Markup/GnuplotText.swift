/// Text in gnuplot's scripts and data files.
package enum GnuplotText {
  /// A string on one line in single quotes, within which only the quote itself is special.
  ///
  /// Terminals must be `noenhanced`, or `_`, `^`, `{` and others change the type.
  package static func quoted(_ text: String) -> String {
    var output = String.UnicodeScalarView("'".unicodeScalars)
    for scalar in text.unicodeScalars {
      if scalar == "'" { output.append("'") }
      output.append(OneLine.scalar(scalar))
    }
    output.append("'")
    return String(output)
  }

  /// A string where gnuplot expects a format, as in the list of `set xtics`: a percent sign stands for itself.
  package static func format(_ text: String) -> String {
    quoted(String(String.UnicodeScalarView(text.unicodeScalars.flatMap { $0 == "%" ? [$0, $0] : [$0] })))
  }

  /// A string in a data file; it has no escape for the double quote, which becomes a single one.
  package static func dataString(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { $0 == "\"" ? "'" : OneLine.scalar($0) }
    return "\"" + String(String.UnicodeScalarView(scalars)) + "\""
  }

  /// A comment, without its `#`.
  package static func comment(_ text: String) -> String { OneLine.text(text) }
}
