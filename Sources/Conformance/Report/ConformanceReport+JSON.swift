public import Checkpoints

extension ConformanceReport {
  /// The schema of ``json``.
  public static let schema = "genbench.conformance/1"

  /// The whole report.
  public var json: JSONValue {
    let byID = Dictionary(grouping: results, by: \.id)
    let list: [JSONValue] = checks.map { check in
      var object: [String: JSONValue] = [
        "id": .string(check.id), "statement": .string(check.statement), "level": .string(check.level.rawValue),
        "group": .string(check.group.rawValue),
      ]
      object["results"] = .array((byID[check.id] ?? []).map(Self.json))
      return .object(object)
    }
    let counts = Dictionary(uniqueKeysWithValues: Verdict.Kind.allCases.map { ($0.rawValue, JSONValue.integer(count($0))) })
    return .object([
      "schema": .string(Self.schema), "date": .string(date), "command": .string(command),
      "subjects": .array(subjects.map { .string($0) }), "facts": .object(facts.mapValues { .string($0) }),
      "counts": .object(counts), "conforming": .bool(isConforming), "checks": .array(list),
    ])
  }

  private static func json(_ result: CheckResult) -> JSONValue {
    var object: [String: JSONValue] = [
      "subject": .string(result.subject), "verdict": .string(result.verdict.kind.rawValue),
      "detail": .string(result.verdict.detail), "duration_ns": .integer(Int(clamping: result.durationNs)),
    ]
    if let evidence = result.verdict.evidence {
      object["expected"] = .string(evidence.expected)
      object["seen"] = .string(evidence.seen)
      object["log"] = .array(evidence.log.map { .string($0) })
    }
    return .object(object)
  }
}
