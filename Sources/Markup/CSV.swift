/// Comma-separated values (RFC 4180).
package enum CSV {
  /// Rows with their line ends; what looks like a spreadsheet's formula is left as it is.
  package static func table(_ rows: [[String]]) -> String { rows.map { row($0) + "\r\n" }.joined() }

  /// A row without its line end.
  package static func row(_ cells: [String]) -> String {
    // A lone empty cell would be an empty line, which readers skip.
    cells == [""] ? "\"\"" : cells.map(cell).joined(separator: ",")
  }

  private static func cell(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { [",", "\"", "\r", "\n"].contains($0) }) else { return text }
    var output = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in text.unicodeScalars {
      if scalar == "\"" { output.append("\"") }
      output.append(scalar)
    }
    output.append("\"")
    return String(output)
  }
}
