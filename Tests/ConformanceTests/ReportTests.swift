import Checkpoints
import Conformance
import Foundation
import Testing

/// Verdicts, known failures and the forms of the report.
struct ReportTests {
  private func check(
    _ id: String, level: Check.Level = .normative,
    body: @escaping @Sendable (CheckContext<DiffusionSurface>) async throws -> Void = { _ in }
  ) -> Check {
    SurfaceCheck(id, "Statement <\(id)> & \"more\".", level: level, group: .diffusion, body: body).check
  }

  private struct Odd: Error {}

  private var checks: [Check] {
    [
      check("D-01"), check("D-02", level: .recommended) { context in try context.expectEqual(1, 2, "one") },
      check("D-03") { context in
        context.log.note("a | b < c")
        throw CheckFailure(expected: "<good>", seen: "bad | worse")
      }, check("D-04") { _ in throw CheckSkip("no such thing") }, check("D-05") { _ in throw Odd() },
    ]
  }

  private func report(_ expected: ExpectedFailures = ExpectedFailures()) async -> ConformanceReport {
    let results = await Runner(expected: expected).run(checks, on: [Subjects.scripted])
    return ConformanceReport(
      checks: checks, subjects: [Subjects.scripted.title], results: results, date: "2027-01-31", command: "genbench conform",
      facts: ["genbench": "1"])
  }

  @Test func verdictsOfAllKinds() async {
    let report = await report()
    #expect(report.results.map(\.verdict.kind) == [.pass, .fail, .fail, .skip, .error])
    #expect(report.failures.map(\.id) == ["D-03", "D-02"], "the most binding first")
    #expect(!report.isConforming)
    #expect(report.headline == "1 passed, 2 failed, 1 skipped, 1 error")
    #expect(report.results[2].verdict.evidence?.log == ["a | b < c"])
  }

  @Test func knownFailuresAreExcusedAndOldOnesCount() async throws {
    let expected = ExpectedFailures(entries: [
      .init(implementation: "RunAnywhere", check: "D-02", reason: "known", expires: "2099-01-01"),
      .init(implementation: "RunAnywhere", check: "D-01", reason: "was broken", expires: "2099-01-01"),
      .init(implementation: "Other", check: "D-03", reason: "not ours", expires: "2099-01-01"),
      .init(implementation: "RunAnywhere", version: "9.9", check: "D-03", reason: "another version", expires: "2099-01-01"),
    ])
    let report = await report(expected)
    #expect(report.results.map(\.verdict.kind) == [.unexpectedPass, .expectedFail, .fail, .skip, .error])
    #expect(report.failures.map(\.id) == ["D-01", "D-03"])
  }

  private func file(_ entries: String, schema: String = ExpectedFailures.schema) -> Data {
    Data(#"{"schema": "\#(schema)", "entries": [\#(entries)]}"#.utf8)
  }

  @Test func expiredEntriesNoLongerHold() throws {
    let entry = #"{"implementation": "A", "check": "D-01", "reason": "r", "expires": "2027-01-31"}"#
    func entries(_ today: String) throws -> Int {
      try ExpectedFailures(data: file(entry), name: "f", today: today, knownChecks: ["D-01"]).entries.count
    }
    #expect(try entries("2027-01-31") == 1)
    #expect(try entries("2027-02-01") == 0)
  }

  @Test(arguments: [
    (#"{"implementation": "A", "check": "D-99", "reason": "r", "expires": "2027-01-31"}"#, "D-99"),
    (#"{"implementation": "A", "check": "D-01", "reason": " ", "expires": "2027-01-31"}"#, "reason"),
    (#"{"implementation": "A", "check": "D-01", "reason": "r", "expires": "31.1.2027"}"#, "expires"),
    (#"{"implementation": "A", "check": "D-01", "reason": "r", "expires": "2027-13-01"}"#, "expires"),
    (#"{"implementation": "A", "check": "D-01", "reason": "r"}"#, "expires"), (#"7"#, "schema and entries"),
  ])
  func damagedFilesAreRefused(_ entry: String, _ word: String) {
    let error = #expect(throws: ExpectedFailures.FileError.self) {
      try ExpectedFailures(data: file(entry), name: "known.json", today: "2026-01-01", knownChecks: ["D-01"])
    }
    #expect(error?.description.contains(word) == true && error?.description.hasPrefix("known.json") == true, "\(error as Any)")
  }

  @Test func otherSchemasAreRefused() {
    #expect(throws: ExpectedFailures.FileError.self) {
      try ExpectedFailures(data: file("", schema: "other/1"), name: "f", today: "2026-01-01", knownChecks: [])
    }
  }

  @Test func everyFormTellsTheSame() async throws {
    let report = await report()
    let text = report.text()
    #expect(text.contains("✗ D-03") && text.contains("seen      bad | worse") && text.contains("log       a | b < c"))
    #expect(text.contains("genbench conform --filter '^D-03$'"))
    #expect(text.contains("no such thing: D-04"))

    let markdown = report.markdown
    #expect(markdown.contains("❌ 1 passed, 2 failed"))
    #expect(markdown.contains("bad \\| worse") && markdown.contains("&lt;good>"))

    let parser = XMLWords(report.junit)
    #expect(parser.opened["testcase"] == 5 && parser.opened["failure"] == 2)
    #expect(parser.opened["skipped"] == 1 && parser.opened["error"] == 1)
    #expect(parser.isBalanced)

    let html = report.html
    #expect(!html.contains("<script") && html.contains("prefers-color-scheme:dark"))
    #expect(html.contains("Statement &lt;D-03&gt; &amp; &quot;more&quot;.") && !html.contains("<good>"))
    #expect(XMLWords(html.replacing("<!doctype html>", with: "").replacing("&nbsp;", with: " ")).opened["tr"] == 6)

    let json = report.json
    #expect(json["counts"]?["fail"] == 2 && json["conforming"] == false)
    #expect(json["checks"]?.array?[2]["results"]?.array?[0]["seen"] == "bad | worse")
  }

  @Test func anEmptyRunSaysSo() {
    let report = ConformanceReport(checks: [], subjects: [], results: [], date: "2027-01-31", command: "genbench conform")
    #expect(report.headline == "nothing was checked" && report.isConforming)
    #expect(report.text().hasSuffix("nothing was checked"))
  }

  /// Counts elements, and sees whether each is closed.
  struct XMLWords {
    var opened: [String: Int] = [:]
    var isBalanced = true

    init(_ text: String) {
      var stack: [String] = []
      for part in text.split(separator: "<").dropFirst() where !part.hasPrefix("?") {
        guard let end = part.firstIndex(of: ">") else { continue }
        let tag = part[..<end]
        let name = String(tag.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber })
        if tag.hasPrefix("/") {
          if stack.popLast() != name { isBalanced = false }
        } else {
          opened[name, default: 0] += 1
          if !tag.hasSuffix("/") { stack.append(name) }
        }
      }
      if !stack.isEmpty { isBalanced = false }
    }
  }
}
