import Markup

extension ConformanceReport {
  /// The report for a summary of continuous integration.
  public var markdown: String {
    var lines = ["# Conformance: \(isConforming ? "✅" : "❌") \(headline)", ""]
    let kinds = Verdict.Kind.allCases.filter { $0 == .pass || $0 == .fail || $0 == .skip || count($0) > 0 }
    lines.append("| group | subject | " + kinds.map(\.rawValue).joined(separator: " | ") + " |")
    lines.append("| --- | --- | " + kinds.map { _ in "---:" }.joined(separator: " | ") + " |")
    for group in groups {
      for subject in subjects {
        let cells = kinds.map { count($0, group: group, subject: subject) }
        if cells.reduce(0, +) > 0 {
          lines.append(
            "| \(group.rawValue) | \(Markdown.text(subject)) | " + cells.map(String.init).joined(separator: " | ") + " |")
        }
      }
    }
    for (title, list) in [("Failures", failures), ("Errors", errors)] where !list.isEmpty {
      lines += ["", "## \(title)", "", "| check | subject | what | again |", "| --- | --- | --- | --- |"]
      for result in list {
        lines.append(
          "| **\(Markdown.text(result.id))** | \(Markdown.text(result.subject)) | \(Markdown.text(result.verdict.detail)) | \(Markdown.code(reproduction(of: result.id))) |"
        )
      }
    }
    let skips = skipReasons
    if !skips.isEmpty {
      lines += ["", "<details><summary>Not judged anywhere, and why</summary>", "", "| reason | checks |", "| --- | --- |"]
      for (reason, ids) in skips { lines.append("| \(Markdown.text(reason)) | \(Markdown.text(ids.joined(separator: ", "))) |") }
      lines += ["", "</details>"]
    }
    let facts = facts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    lines += ["", Markdown.text(([date] + facts).joined(separator: " · "))]
    return lines.joined(separator: "\n") + "\n"
  }
}
