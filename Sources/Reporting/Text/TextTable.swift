import Markup

/// Rows and columns as aligned text, which is a Markdown table too.
public struct TextTable: Sendable, Hashable {
  /// Where a column's text stands.
  public enum Alignment: Sendable, Hashable {
    case left, right
  }

  private let titles: [String]
  private let alignments: [Alignment]
  private var rows: [[String]] = []

  /// Makes a table without rows.
  public init(_ columns: [(title: String, alignment: Alignment)]) {
    titles = columns.map(\.title)
    alignments = columns.map(\.alignment)
  }

  /// Adds a row; missing cells are empty, extra ones are dropped.
  public mutating func append(_ cells: [String]) {
    rows.append(titles.indices.map { $0 < cells.count ? cells[$0] : "" })
  }

  /// The table with a line below its titles; every line begins and ends with a bar.
  public var markdown: String {
    let cells = ([titles] + rows).map { $0.map(Markdown.text) }
    let widths = titles.indices.map { column in max(3, cells.map { $0[column].count }.max() ?? 0) }
    func line(_ row: [String]) -> String {
      "| " + titles.indices.map { pad(row[$0], to: widths[$0], alignments[$0]) }.joined(separator: " | ") + " |"
    }
    let rule = titles.indices.map { column in
      alignments[column] == .right
        ? String(repeating: "-", count: widths[column] - 1) + ":" : String(repeating: "-", count: widths[column])
    }
    return ([line(cells[0]), "| " + rule.joined(separator: " | ") + " |"] + cells.dropFirst().map(line)).joined(separator: "\n")
  }

  private func pad(_ text: String, to width: Int, _ alignment: Alignment) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return alignment == .left ? text + space : space + text
  }
}
