import Foundation
import GenBackend
import Measurement
import Testing

@testable import Reporting

/// A run with two cases: one that went well, one that failed.
func sampleRun(names: [String] = ["sd15/64x64/pndm/2", "sdxl/64x64/euler/2"]) -> RunDocument {
  var run = RunDocument(
    runID: "01900000-0000-7000-8000-000000000000", createdAt: "2026-01-02T03:04:05.678Z",
    tool: .init(
      name: "genbench", version: "1.2.3", commit: "0123456789abcdef", dirty: true,
      build: BuildRecord(config: "release", swiftVersion: "6.3")),
    command: ["genbench", "run"], config: ["steps": "2"], environment: EnvironmentProbe(root: SystemRoot(path: "/nowhere")).read()
  )
  run.subjects = [
    RunSubject(
      id: "s", backend: .init(kind: "ref", name: "reference", version: "1", capabilities: [], details: ["threads": "2"]),
      model: .init(family: "sd15", name: "sd15", params: 1, bytes: 2, precision: "f32"), settings: [:])
  ]
  for (number, name) in names.enumerated() {
    var runCase = RunCase(
      caseID: name, subject: "s",
      parameters: .init(steps: 2, width: 64, height: 64, guidance: nil, scheduler: "pndm", seed: .max))
    var session = RunSession(pid: 7, startedAt: "2026-01-02T03:04:06.000Z", loadNs: 5_000_000)
    for index in 0..<3 {
      let base = UInt64(index * 1_000_000)
      let budget = TimeBudget(
        events: [
          .began(.step, index: 0, timeNs: base), .ended(.step, index: 0, timeNs: base + 400_000),
          .began(.step, index: 1, timeNs: base + 400_000), .ended(.step, index: 1, timeNs: base + 700_000 + UInt64(index)),
        ], startNs: base, endNs: base + 1_000_000)
      session.samples.append(
        .init(
          index: index, prompt: "a \"cat\"", repetition: 0, seed: UInt64(index), startNs: base, budget: budget,
          safety: "unchecked",
          image: nil))
    }
    session.memory = .init(
      (0..<3).map { .init(timeNs: UInt64($0) * 1_000_000_000, reading: MemoryReading(residentBytes: 1 << 20)) }, startNs: 0)
    runCase.sessions = [session]
    runCase.metrics = [
      .init(.of(.endToEnd), sessions: [[1e6, 1e6, 1e6]]),
      .init(.of(.unaccounted), sessions: [[3e5, 3e5, 3e5]]),
      .init(.of(.step), sessions: [[4e5, 3e5, 4e5, 3e5]]),
      .init(.of(.peakResident), sessions: [[3 * 1_048_576]]),
    ]
    runCase.status = number == 0 ? .pass : .error
    runCase.statusReason = number == 0 ? nil : "it | broke"
    run.cases.append(runCase)
  }
  return run
}

@Suite struct RunDocumentTests {
  @Test func whatIsWrittenIsRead() throws {
    let run = sampleRun()
    let text = try run.json()
    #expect(try RunDocument(json: Data(text.utf8)) == run)
    #expect(try run.json() == text)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(
      Set(object.keys).isSuperset(of: [
        "schema", "run_id", "created_at", "status", "tool", "command", "config", "labels", "exit", "environment", "subjects",
        "cases",
      ]))
  }

  @Test func unmeasuredIsNullAndTimesAreWhole() throws {
    let text = try sampleRun().json()
    #expect(text.contains("\"guidance\" : null") && text.contains("\"conformance\" : null") && text.contains("\"image\" : null"))
    #expect(text.contains("\"steps_ns\" : [400000, 300000]"))
    #expect(text.contains("\"anonymous_bytes\" : [null, null, null]"))
    #expect(text.contains("\"seed\" : 18446744073709551615"))
    #expect(text.contains(#""prompt" : "a \"cat\"""#))
  }

  @Test func keysAreSorted() throws {
    let lines = try sampleRun().json().split(separator: "\n")
    let top = lines.filter { $0.hasPrefix("  \"") }.map { $0.dropFirst(3).prefix { $0 != "\"" } }
    #expect(top == top.sorted() && top.count >= 12)
  }

  @Test(arguments: [
    ("", "no JSON"), ("[]", "no JSON"), ("{}", "found none"), (#"{"schema": "genbench.run/9"}"#, "genbench.run/9"),
    (#"{"schema": "genbench.run/1"}"#, "missing"), (#"{"schema": "genbench.run/1", "run_id": 5}"#, "damaged"),
  ])
  func otherFilesAreRefused(text: String, word: String) {
    let error = #expect(throws: RunDocumentError.self) { try RunDocument(json: Data(text.utf8)) }
    #expect(error?.message.contains(word) == true, "\(String(describing: error))")
  }

  @Test func unknownKeysAreIgnored() throws {
    let text = try sampleRun().json().replacing("\"schema\" :", with: "\"zebra\" : 1, \"schema\" :")
    #expect(try RunDocument(json: Data(text.utf8)) == sampleRun())
  }

  @Test func runIDsAreVersionSevenAndSortByTime() {
    var random = SplitMix64(seed: 1)
    let early = RunDocument.makeRunID(date: Date(timeIntervalSince1970: 1_700_000_000), using: &random)
    let late = RunDocument.makeRunID(date: Date(timeIntervalSince1970: 1_700_000_001), using: &random)
    #expect(early < late)
    #expect(early.count == 36 && early.hasPrefix("018bcfe5-6800-7"))
    let variant = early[early.index(early.startIndex, offsetBy: 19)]
    #expect("89ab".contains(variant))
  }

  @Test func timestampsAreRFC3339() {
    #expect(RunDocument.timestamp(Date(timeIntervalSince1970: 0.25)) == "1970-01-01T00:00:00.250Z")
  }
}

@Suite struct RunTableTests {
  @Test func theTableShowsWhatIsThereAndADashForTheRest() {
    let text = RunTable.markdown(sampleRun())
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0].contains("| case ") && lines[0].contains("peak memory") && lines[0].contains("verdict"))
    #expect(lines[2].contains("sd15/64x64/pndm/2") && lines[2].contains("3.00 MiB") && lines[2].contains("not judged"))
    #expect(lines[2].contains(" - |"), "load wasn't measured")
    #expect(lines[3].contains("failed"))
    #expect(Set(lines[0...3].map(\.count)).count == 1, "columns are aligned")
    #expect(text.contains("At most 30 % of the time is in no stage."))
    #expect(text.contains("sdxl/64x64/euler/2: error: it | broke"))
    #expect(text.contains("genbench 1.2.3 0123456789+, release build"))
  }
}

@Suite struct TextTests {
  @Test(arguments: [
    (0.0, "0 ns"), (734, "734 ns"), (1234, "1.23 us"), (12_345_678, "12.3 ms"), (999_600, "1.00 ms"), (1.2e9, "1.20 s"),
    (95e9, "95.0 s"), (270e9, "4.50 min"),
  ])
  func durations(ns: Double, text: String) { #expect(Units.duration(ns: ns) == text) }

  @Test func spreadsShareTheUnit() {
    #expect(Units.duration(ns: 12_300_000, spread: 400_000) == "12.3 ±0.40 ms")
    #expect(Units.duration(ns: 12_300_000, spread: 0) == "12.3 ±0 ms")
    #expect(Units.duration(ns: 12_300_000, spread: nil) == "12.3 ms")
    #expect(Units.duration(ns: .nan) == "?")
  }

  @Test(arguments: [(0.0, "0 B"), (512, "512 B"), (1536, "1.50 KiB"), (3_670_016, "3.50 MiB"), (5.0 * 1_073_741_824, "5.00 GiB")])
  func sizes(bytes: Double, text: String) { #expect(Units.bytes(bytes) == text) }

  @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (859_520_964, "859,520,964"), (-12345, "-12,345")])
  func groups(value: Int, text: String) { #expect(Units.grouped(value) == text) }

  @Test(arguments: [(9.999, 3, "10.0"), (0.0009999, 2, "0.0010"), (123456, 3, "123456"), (1.5, 2, "1.5"), (-2.345, 3, "-2.35")])
  func digits(value: Double, digits: Int, text: String) { #expect(Units.significant(value, digits: digits) == text) }

  @Test func barsInCellsAreEscaped() {
    var table = TextTable([("a|b", .left), ("n", .right)])
    table.append(["x\ny", "1", "dropped"])
    table.append(["z"])
    #expect(table.markdown == "| a\\|b |   n |\n| ---- | --: |\n| x y  |   1 |\n| z    |     |")
  }

  @Test func onlyArraysOfNumbersAreJoined() {
    #expect(JSONLayout.joiningNumberArrays("[\n 1,\n -2.5e3,\n null\n]") == "[1, -2.5e3, null]")
    #expect(
      JSONLayout.joiningNumberArrays("{\"a\" : \"[\\n 1 ]\\\"[ 2 ]\", \"b\" : [\n \"x\"\n]}")
        == "{\"a\" : \"[\\n 1 ]\\\"[ 2 ]\", \"b\" : [\n \"x\"\n]}")
    #expect(JSONLayout.joiningNumberArrays("[\n [\n 1\n ],\n true\n]") == "[\n [1],\n true\n]")
    #expect(JSONLayout.joiningNumberArrays("[\n\n]") == "[]")
  }
}
