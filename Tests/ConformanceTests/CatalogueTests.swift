import Conformance
import Foundation
import Goldens
import TestSupport
import Testing

@testable import GenbenchCLI

/// Every check of the catalogue as a test of its own id.
struct CatalogueTests {
  /// What RunAnywhere can't be asked: the catalogue lists these, and says why.
  static let skipped: Set<String> = ["D-09", "D-18", "P-17", "P-27"]

  /// Checks that weigh the whole process, which other tests share: judged in a process of their own.
  static let ofTheProcess: Set<String> = ["X-09"]

  /// A hang shows, however busy the machine is.
  static let timeout = Duration.seconds(900)

  @Test(arguments: Catalogue.all.filter { !ofTheProcess.contains($0.id) })
  func overAScript(_ check: Check) async throws {
    let result = await Runner(timeout: Self.timeout).run(check, on: try Subjects.scripted(check.surface))
    switch result.verdict.kind {
    case .pass: #expect(!Self.skipped.contains(check.id))
    case .skip:
      #expect(
        Self.skipped.contains(check.id) || !check.environments.contains(.scripted), "\(check.id): \(result.verdict.detail)")
      #expect(!result.verdict.detail.isEmpty)
    default:
      Issue.record("\(check.id): \(result.verdict.detail)\n\(result.verdict.evidence?.log.joined(separator: "\n") ?? "")")
    }
  }

  /// Those, and rules of the main thread, which must hold in a command-line tool.
  @Test(arguments: ofTheProcess.sorted() + ["T-07", "T-13"])
  func inAProcessOfItsOwn(_ id: String) throws {
    let tests = try #require(Bundle.main.executableURL)
    let process = Process()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("genbench")
    process.arguments = ["conform", "--over", "script", "--filter", "^\(id)$"]
    process.environment = ProcessInfo.processInfo.environment.merging(["GENBENCH_HOME": Fixtures.packageFolder.path]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = Pipe()
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("1 passed") && !text.contains("skipped"), "\(text)")
  }

  @Test func idsAreThoseOfTheCatalogue() {
    let ids = Catalogue.all.map(\.id)
    #expect(Set(ids).count == ids.count)
    let counts = [("D", 73), ("M", 22), ("P", 28), ("S", 11), ("T", 40), ("V", 38), ("X", 11)]
    let wanted = counts.flatMap { group, count in (1...count).map { "\(group)-" + ($0 < 10 ? "0\($0)" : "\($0)") } }
    #expect(ids.sorted() == wanted.sorted())
    #expect(Catalogue.all.allSatisfy { $0.statement.hasSuffix(".") })
    #expect(Catalogue.check("D-04")?.level == .derived && Catalogue.check("none") == nil)
  }
}

/// The same checks over the engine in the box; one after the other, as each of them uses all processors.
@Suite(.serialized) struct EngineTests {
  @Test(arguments: Catalogue.all.filter { $0.environments.contains(.engine) })
  func overTheEngine(_ check: Check) async throws {
    let result = await Runner(timeout: CatalogueTests.timeout).run(check, on: try Subjects.engine(check.surface))
    // Memory is judged in a process of its own; meaning where the repository's model understands prompts.
    let isUnderstood = check.group != .semantics || ConformSubjects.promptedVariants.contains(.sd15)
    let isSkipped = ["D-68", "D-69"].contains(check.id) || !isUnderstood
    #expect(
      result.verdict.kind == (isSkipped ? .skip : .pass),
      "\(check.id): \(result.verdict.detail)\n\(result.verdict.evidence?.log.joined(separator: "\n") ?? "")")
  }

  static func goldens() throws -> [Check] {
    NumericsChecks.checks(of: try NumericsChecks.areas.flatMap { try Fixtures.cases(in: $0) })
  }

  /// Inner tables of the samplers, which the engine doesn't hand out alone; plans and trajectories rest on them.
  static let inner: Set<String> = ["betaQuantile", "noiseSchedule"]

  @Test(arguments: try goldens())
  func golden(_ check: Check) async throws {
    let result = await Runner(timeout: CatalogueTests.timeout).run(check, on: try Subjects.engine())
    if case .skip(let reason) = result.verdict {
      #expect(Self.inner.contains { reason.contains($0) }, "\(check.id): \(reason)")
    } else {
      #expect(result.verdict.kind == .pass, "\(check.id): \(result.verdict.detail)")
    }
  }

  @Test func thereAreGoldensOfEveryKind() throws {
    let ids = try Self.goldens().map(\.id)
    #expect(Set(ids).count == ids.count)
    for area in NumericsChecks.areas + ["diffusion/unet", "diffusion/vae", "pipelines/sd15", "pipelines/sd20", "pipelines/sdxl"] {
      #expect(ids.contains { $0.hasPrefix(area + "/") || $0.hasPrefix(area) }, "\(area)")
    }
  }
}
