import Conformance
import Markup

extension SelfTest.Matrix {
  /// The matrix as lines for a terminal: one a check, with the mutants that it finds out.
  public var text: String {
    var lines: [String] = []
    let width = checks.map(\.id.count).max() ?? 0
    for check in checks {
      let caught = mutants.filter { isCaught($0.id, by: check.id) }.map(\.id)
      let space = String(repeating: " ", count: width - check.id.count)
      lines.append(
        "\(caught.isEmpty ? "✗" : "✓") \(check.id)\(space)  \(caught.isEmpty ? "no mutant fails it" : caught.joined(separator: ", "))"
      )
    }
    let found = mutants.count { mutant in checks.contains { isCaught(mutant.id, by: $0.id) } }
    lines += [
      "", "\(provenChecks) of \(checks.count) checks proven able to fail, \(found) of \(mutants.count) mutants found out",
    ]
    lines += faults.map { "fault: \($0)" }
    return lines.joined(separator: "\n")
  }

  /// The matrix as a page.
  public var html: String {
    var body = [
      "<h1>Self-test: checks and mutants</h1>",
      "<p class=\"\(faults.isEmpty ? "pass" : "fail")\">\(provenChecks) of \(checks.count) checks proven able to fail</p>",
    ]
    body += faults.map { "<p class=\"fail\">\(XML.text($0))</p>" }
    body.append(
      "<h2>Mutants</h2><div class=\"scroll\"><table><thead><tr><th>mutant</th><th>fault</th><th>found out by</th></tr></thead><tbody>"
    )
    for mutant in mutants {
      let finders = checks.filter { isCaught(mutant.id, by: $0.id) }.map(\.id)
      body.append(
        "<tr><td class=\"id\">\(XML.text(mutant.id))</td><td>\(XML.text(mutant.fault))</td><td class=\"id\" style=\"white-space:normal\">\(XML.text(finders.joined(separator: " ")))</td></tr>"
      )
    }
    body.append("</tbody></table></div><h2>Matrix</h2><div class=\"scroll\"><table><thead><tr><th>check</th>")
    for (index, mutant) in mutants.enumerated() {
      body.append("<th class=\"c\" title=\"\(XML.attribute(mutant.id))\">\(index + 1)</th>")
    }
    body.append("</tr></thead><tbody>")
    for check in checks {
      var row = "<tr><td class=\"id\">\(XML.text(check.id))</td>"
      for mutant in mutants {
        let kind = cells[check.id]?[mutant.id]
        row += "<td class=\"c\(kind == .fail ? " fail" : " skip")\">\(kind.map { $0 == .pass ? "·" : $0.mark } ?? "")</td>"
      }
      body.append(row + "</tr>")
    }
    body.append("</tbody></table></div>")
    return HTMLPage.page(title: "Self-test", body: body)
  }
}
