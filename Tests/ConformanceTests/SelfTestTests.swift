import Conformance
import ConformanceSelfTest
import Foundation
import Testing

@testable import GenbenchCLI

/// Every check can fail, and every fault is found out.
struct SelfTestTests {
  @Test(arguments: Mutant.all)
  func isFoundOut(_ mutant: Mutant) async {
    let matrix = await SelfTest(subjects: ConformSubjects.allScripted).run(mutants: [mutant], onlyClaimed: true)
    for id in mutant.breaks {
      #expect(matrix.isCaught(mutant.id, by: id), "\(mutant.id) should fail \(id), but: \(matrix.cells[id] ?? [:])")
    }
    #expect(!mutant.breaks.isEmpty)
  }

  @Test func everyCheckHasItsMutant() {
    let broken = Set(Mutant.all.flatMap(\.breaks))
    for check in SelfTest.checks { #expect(broken.contains(check.id), "no mutant claims to break \(check.id)") }
    #expect(broken.isSubset(of: SelfTest.checks.map(\.id)))
    #expect(Set(Mutant.all.map(\.id)).count == Mutant.all.count)
  }

  /// A race that goes wrong is told by its seed, and goes wrong again with it.
  @Test func aRaceIsReplayedByItsSeed() async throws {
    let check = try #require(Catalogue.check("T-32"))
    let mutant = try #require(Mutant.all.first { $0.id == "looks-then-acts" })
    let selfTest = SelfTest(subjects: ConformSubjects.allScripted)
    let first = await selfTest.verdict(check, on: mutant)
    let words = try #require(first.evidence?.expected.split(separator: " "))
    let seed = try #require(UInt64(words[1].dropLast()))
    #expect(words[0] == "race" && first.evidence?.seen.contains("in the order:") == true, "\(first.detail)")
    let again = await SelfTest(subjects: ConformSubjects.allScripted, raceSeed: seed).verdict(check, on: mutant)
    #expect(again.evidence?.summary == first.evidence?.summary)
    // Most seeds end well even there, so the seed is what finds it.
    let other = await SelfTest(subjects: ConformSubjects.allScripted, raceSeed: seed + 1).verdict(check, on: mutant)
    #expect(other.evidence?.expected != first.evidence?.expected)
  }

  @Test func clampingFailsExactlyTheRightChecks() async throws {
    let mutant = try #require(Mutant.all.first { $0.id == "clamps-steps" })
    let matrix = await SelfTest(subjects: [Subjects.scripted], timeout: CatalogueTests.timeout).run(
      mutants: [mutant], checks: SelfTest.checks.filter { !CatalogueTests.ofTheProcess.contains($0.id) })
    let caught = SelfTest.checks.map(\.id).filter { matrix.isCaught(mutant.id, by: $0) }
    #expect(caught == ["D-04", "D-66"])
  }

  @Test func uselessChecksAndMutantsAreFaults() async throws {
    let check = try #require(Catalogue.check("D-01"))
    let mutant = try #require(Mutant.all.first { $0.id == "28-steps-by-default" })
    let matrix = await SelfTest(subjects: [Subjects.scripted], timeout: CatalogueTests.timeout).run(
      mutants: [mutant], checks: [check])
    #expect(matrix.faults.contains { $0.contains("D-01 is failed by no mutant") })
    #expect(matrix.faults.contains { $0.contains("28-steps-by-default is found out by no check") })
    #expect(matrix.provenChecks == 0)
  }
}
