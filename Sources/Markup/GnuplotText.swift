/// Text in gnuplot's scripts and data files.
package enum GnuplotText {
  /// A string on one line: in single quotes, within which nothing is special, or in double ones when it has a single quote.
  ///
  /// gnuplot 5.4 misreads doubled single quotes at the start of a string and in a row, as its manual has them. Terminals must be
  /// `noenhanced`, or `_`, `^`, `{` and others change the type.
  package static func quoted(_ text: String) -> String {
    let isSimple = !text.unicodeScalars.contains("'")
    var output = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\" where !isSimple, "\"" where !isSimple: output.append(contentsOf: ["\\", scalar])
      // A backquote would run a program, escaped or not.
      case "`" where !isSimple: output.append(contentsOf: "\\140".unicodeScalars)
      default: output.append(OneLine.scalar(scalar))
      }
    }
    return isSimple ? "'\(String(output))'" : "\"\(String(output))\""
  }

  /// A string where gnuplot expects a format, as in the list of `set xtics`: a percent sign stands for itself.
  package static func format(_ text: String) -> String {
    quoted(String(String.UnicodeScalarView(text.unicodeScalars.flatMap { $0 == "%" ? [$0, $0] : [$0] })))
  }

  /// A string in a data file, where the double quote has no escape and becomes a single one.
  package static func dataString(_ text: String) -> String {
    let scalars = text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
      switch scalar {
      case "\"": ["'"]
      case "\\": ["\\", "\\"]
      default: [OneLine.scalar(scalar)]
      }
    }
    return "\"" + String(String.UnicodeScalarView(scalars)) + "\""
  }

  /// A comment, without its `#`.
  package static func comment(_ text: String) -> String { OneLine.text(text) }
}
