extension ConformanceReport {
  /// The report for a terminal: a table by group, then the worst failures with what was seen.
  ///
  /// - Parameters:
  ///   - worst: Failures that are shown with their logs.
  ///   - showsSkips: Whether the reasons of skips are listed.
  public func text(worst: Int = 10, showsSkips: Bool = true) -> String {
    var lines: [String] = []
    let kinds = Verdict.Kind.allCases.filter { $0 == .pass || $0 == .fail || $0 == .skip || count($0) > 0 }
    let heads = ["group", "subject"] + kinds.map(\.rawValue)
    var rows: [[String]] = []
    for group in groups {
      for subject in subjects {
        let cells = kinds.map { count($0, group: group, subject: subject) }
        if cells.reduce(0, +) > 0 { rows.append([group.rawValue, subject] + cells.map(String.init)) }
      }
    }
    let widths = heads.indices.map { column in ([heads] + rows).map { $0[column].count }.max() ?? 0 }
    for row in [heads] + rows {
      lines.append(
        row.indices.map { column in
          let space = String(repeating: " ", count: widths[column] - row[column].count)
          return column < 2 ? row[column] + space : space + row[column]
        }.joined(separator: "  "))
    }
    for result in failures.prefix(worst) + errors.prefix(worst) { lines += [""] + failure(result) }
    let hidden = max(0, failures.count - worst) + max(0, errors.count - worst)
    if hidden > 0 { lines += ["", "… and \(hidden) more; --json has them all"] }
    let skips = skipReasons
    if showsSkips, !skips.isEmpty {
      lines += ["", "skipped:"]
      for (reason, ids) in skips { lines.append("  \(ids.count) × \(reason): \(Self.shortened(ids))") }
    }
    lines += ["", headline]
    return lines.joined(separator: "\n")
  }

  private func failure(_ result: CheckResult) -> [String] {
    let statement = checks.first { $0.id == result.id }?.statement ?? ""
    var lines = ["\(result.verdict.kind.mark) \(result.id) \(statement)", "  on        \(result.subject)"]
    if let evidence = result.verdict.evidence {
      lines += ["  expected  \(evidence.expected)", "  seen      \(evidence.seen)"]
      for (index, entry) in evidence.log.suffix(12).enumerated() {
        lines.append("  \(index == 0 ? "log       " : "          ")\(entry)")
      }
    } else {
      lines.append("  \(result.verdict.detail)")
    }
    lines.append("  again     \(reproduction(of: result.id))")
    return lines
  }

  /// Reasons of skips with their checks, the commonest first; what another column has judged isn't listed.
  var skipReasons: [(reason: String, ids: [String])] {
    var ids: [String: [String]] = [:]
    for result in results {
      guard case .skip(let reason) = result.verdict else { continue }
      let isJudgedElsewhere = results.contains { $0.id == result.id && $0.verdict.kind != .skip }
      if !isJudgedElsewhere, !(ids[reason]?.contains(result.id) ?? false) { ids[reason, default: []].append(result.id) }
    }
    return ids.map { (reason: $0.key, ids: $0.value) }.sorted { (-$0.ids.count, $0.reason) < (-$1.ids.count, $1.reason) }
  }

  private static func shortened(_ ids: [String]) -> String {
    ids.count <= 6 ? ids.joined(separator: ", ") : ids.prefix(5).joined(separator: ", ") + " and \(ids.count - 5) more"
  }
}
