import Markup

extension ConformanceReport {
  /// The report as JUnit XML: a suite a subject, a case a check.
  public var junit: String {
    var lines = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
      "<testsuites name=\"conformance\" tests=\"\(results.count)\" failures=\"\(failures.count)\" errors=\"\(errors.count)\">",
    ]
    for subject in subjects {
      let own = results.filter { $0.subject == subject }
      let skipped = own.count { $0.verdict.kind == .skip || $0.verdict.kind == .expectedFail }
      lines.append(
        "  <testsuite name=\"\(XML.attribute(subject))\" tests=\"\(own.count)\" failures=\"\(failures.count { $0.subject == subject })\" errors=\"\(errors.count { $0.subject == subject })\" skipped=\"\(skipped)\" time=\"\(Self.seconds(own.reduce(0) { $0 + $1.durationNs }))\">"
      )
      for result in own { lines += testCase(result) }
      lines.append("  </testsuite>")
    }
    lines.append("</testsuites>")
    return lines.joined(separator: "\n") + "\n"
  }

  private func testCase(_ result: CheckResult) -> [String] {
    let check = checks.first { $0.id == result.id }
    let open =
      "    <testcase classname=\"conformance.\(XML.attribute(check?.group.rawValue ?? ""))\" name=\"\(XML.attribute(result.id))\" time=\"\(Self.seconds(result.durationNs))\""
    let detail = XML.attribute(result.verdict.detail)
    switch result.verdict {
    case .pass: return [open + "/>"]
    case .skip, .expectedFail: return [open + ">", "      <skipped message=\"\(detail)\"/>", "    </testcase>"]
    case .error: return [open + ">", "      <error message=\"\(detail)\"/>", "    </testcase>"]
    case .fail, .unexpectedPass:
      let body =
        [check?.statement ?? "", result.verdict.detail] + (result.verdict.evidence?.log ?? []) + [reproduction(of: result.id)]
      return [
        open + ">", "      <failure message=\"\(detail)\">\(XML.text(body.joined(separator: "\n")))</failure>",
        "    </testcase>",
      ]
    }
  }

  private static func seconds(_ nanoseconds: UInt64) -> String {
    let thousandths = nanoseconds / 1_000_000
    let fraction = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
  }
}
