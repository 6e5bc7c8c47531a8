import RunAnywhere
import Testing

@testable import Conformance

/// What running a check leaves behind.
struct RunnerTests {
  @Test(arguments: ["D-01", "D-13", "D-41", "D-66"])
  func aCheckLetsGoOfTheImplementationsThatItMade(id: String) async throws {
    let check = try #require(Catalogue.check(id))
    let probe = WeakProbe()
    let subject = Subject(
      name: "watched", version: "1",
      surroundings: .scripted { engine in
        let session = DiffusionSession(backend: engine) { engine.clock.nowNs }
        probe.add(session)
        return RunAnywhereImplementation(session: session)
      })
    let verdict = await Runner(patience: CatalogueTests.patience).run(check, on: subject).verdict
    #expect(verdict.kind == .pass, "\(verdict.detail)")
    // A thread of the engine may still be on its way out.
    await Patience.until(CatalogueTests.patience) { probe.liveCount == 0 }
    #expect(probe.liveCount == 0)
  }
}
