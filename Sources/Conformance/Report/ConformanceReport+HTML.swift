import Markup

extension ConformanceReport {
  /// The matrix of implementations and checks as a page.
  public var html: String {
    var body = [
      "<h1>Conformance</h1>",
      "<p class=\"\(isConforming ? "pass" : "fail")\">\(XML.text(headline))</p>",
      "<p class=\"dim\">\(XML.text(date)) · \(XML.text(facts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: " · ")))</p>",
      "<p class=\"dim\">"
        + Verdict.Kind.allCases.map {
          "<span class=\"\($0.rawValue)\">\($0.mark)</span> \($0.rawValue.replacing("_", with: " "))"
        }
        .joined(separator: " &nbsp; ") + "</p>",
    ]
    if !failures.isEmpty || !errors.isEmpty {
      body.append("<h2>Failures</h2>")
      for result in failures + errors { body.append(failure(result)) }
    }
    for group in groups {
      body.append(
        "<h2>Group \(group.rawValue)</h2><div class=\"scroll\"><table><thead><tr><th>check</th><th>statement</th><th>level</th>")
      for subject in subjects(of: group) { body.append("<th class=\"c\">\(XML.text(subject))</th>") }
      body.append("</tr></thead><tbody>")
      for check in checks where check.group == group { body.append(row(check)) }
      body.append("</tbody></table></div>")
    }
    return HTMLPage.page(title: "Conformance: \(headline)", body: body)
  }

  private func row(_ check: Check) -> String {
    var cells =
      "<tr id=\"\(XML.attribute(check.id))\"><td class=\"id\">\(XML.text(check.id))</td><td>\(XML.text(check.statement))"
    var said: [String] = []
    for subject in subjects {
      guard let verdict = result(check.id, subject)?.verdict, !verdict.detail.isEmpty, !said.contains(verdict.detail) else {
        continue
      }
      if verdict.kind == .skip, results.contains(where: { $0.id == check.id && $0.verdict.kind != .skip }) { continue }
      said.append(verdict.detail)
      cells += "<br><span class=\"dim\">\(XML.text(verdict.detail))</span>"
    }
    cells += "</td><td class=\"dim\">\(check.level.rawValue)</td>"
    for subject in subjects(of: check.group) {
      guard let verdict = result(check.id, subject)?.verdict else {
        cells += "<td class=\"c\"></td>"
        continue
      }
      let kind = verdict.kind
      cells +=
        "<td class=\"c \(kind.rawValue)\" title=\"\(XML.attribute(verdict.detail))\">\(kind.mark) \(kind.rawValue.replacing("_", with: " "))</td>"
    }
    return cells + "</tr>"
  }

  private func failure(_ result: CheckResult) -> String {
    let statement = checks.first { $0.id == result.id }?.statement ?? ""
    let log = (result.verdict.evidence?.log ?? []) + ["", reproduction(of: result.id)]
    return
      "<details open><summary><span class=\"id \(result.verdict.kind.rawValue)\">\(XML.text(result.id))</span> \(XML.text(statement)) <span class=\"dim\">\(XML.text(result.subject))</span></summary><p>\(XML.text(result.verdict.detail))</p><pre>\(XML.text(log.joined(separator: "\n")))</pre></details>"
  }
}
