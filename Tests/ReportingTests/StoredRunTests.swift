import Foundation
import TestSupport
import Testing

@testable import Reporting

/// The files of a run that version 0.1.0 wrote: two sides, images and text, whole and cancelled requests.
///
/// Recorded with its program; of the timelines of memory four readings each were kept, and paths were shortened.
@Suite struct StoredRunTests {
  private let folder = Fixtures.folder.appendingPathComponent("runs/0.1.0")

  private func data(_ name: String) throws -> Data { try Data(contentsOf: folder.appendingPathComponent(name)) }

  private func object(_ data: Data) throws -> NSObject {
    try #require(try JSONSerialization.jsonObject(with: data) as? NSObject)
  }

  private var plan: RunPlan { get throws { try RunPlan(json: data("plan.json")) } }

  @Test func theRunIsReadAndWrittenAsItWas() throws {
    let run = try RunDocument(json: data("run.json"))
    #expect(run.sides == ["a", "b"] && run.cases.count == 12 && run.cases.allSatisfy { $0.status == .pass })
    #expect(Set(run.cases.map(\.scenario)) == [.single, .cancel])
    #expect(try object(Data(run.json().utf8)) == object(data("run.json")))
  }

  @Test func thePlanKeepsItsHash() throws {
    let plan = try plan
    #expect(try object(plan.json()) == object(data("plan.json")))
    let run = try RunDocument(json: data("run.json"))
    #expect(plan.hash == run.planHash)
  }

  @Test func everyLineOfTheJournalIsReadAndWrittenAsItWas() throws {
    let lines = try data("journal.jsonl").split(separator: UInt8(ascii: "\n"))
    let events = try Journal.read(folder.appendingPathComponent("journal.jsonl")).events
    #expect(events.count == lines.count && lines.count == 134)
    for (event, line) in zip(events, lines) { #expect(try object(Journal.line(event)) == object(line)) }
  }

  /// What is put together from the journal today is what was then.
  @Test func theJournalGivesTheRun() throws {
    var assembler = RunAssembler(plan: try plan)
    for event in try Journal.read(folder.appendingPathComponent("journal.jsonl")).events { assembler.add(event) }
    let run = try RunDocument(json: data("run.json"))
    let cases = assembler.cases()
    #expect(cases.map(\.caseID) == run.cases.map(\.caseID))
    for (assembled, stored) in zip(cases, run.cases) {
      var assembled = assembled
      // Counted after measuring, so that the journal doesn't have it.
      assembled.work = stored.work
      // Two means may differ in the last digit with the order of their sums.
      #expect(assembled == stored, "\(stored.displayName)")
    }
    #expect(assembler.loadedSubjects == run.subjects && assembler.runID == run.runID && assembler.startedAt == run.createdAt)
  }

  @Test func itServesAsABaselineAndInTheHistory() throws {
    let temporary = try TemporaryFolder()
    let run = try RunDocument(json: data("run.json"))
    let history = HistoryStore(file: temporary.url.appendingPathComponent("history.sqlite"))
    #expect(try history.add([run]).outcomes == [.added])
    #expect(try history.trend(.decodeRate).map(\.unit) == [.perSecond, .perSecond])
    let store = ResultStore(folder: temporary.url)
    try store.save(run, as: "old")
    #expect(try store.baseline("old") == run.stripped)
    let comparison = RunComparison(base: (run.side("a"), "a"), candidate: (run.side("b"), "b"))
    #expect(Set(comparison.rows.compactMap(\.metric)).isSuperset(of: [.endToEnd, .step, .cancel, .peakResident, .decodeRate]))
  }
}
