/// "Did you mean": the nearest of the known words.
package enum Suggestion {
  /// The known word that is nearest to a mistyped one; nil when none is near enough.
  package static func nearest(to word: String, among known: [String]) -> String? {
    let limit = max(1, min(3, word.count / 2))
    let candidates = known.map { (word: $0, distance: distance(word, $0)) }.filter { $0.distance <= limit }
    if let best = candidates.min(by: { ($0.distance, $0.word) < ($1.distance, $1.word) }) { return best.word }
    // A beginning that only one word has is near too: `--guid` for `--guidance-scale`.
    let extensions = word.count >= 3 ? known.filter { $0.hasPrefix(word) } : []
    return extensions.count == 1 ? extensions[0] : nil
  }

  /// ` Did you mean '--steps'?`, or nothing.
  package static func text(for word: String, among known: [String]) -> String {
    nearest(to: word, among: known).map { ". Did you mean '\($0)'?" } ?? ""
  }

  /// Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment).
  static func distance(_ left: String, _ right: String) -> Int {
    let (a, b) = (Array(left), Array(right))
    var rows = [Array(0...b.count)]
    for i in 0..<a.count {
      var row = [i + 1]
      for j in 0..<b.count {
        var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
