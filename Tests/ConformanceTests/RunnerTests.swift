import ConformanceAdapters
import ConformanceDoubles
import RunAnywhere
import Testing

@testable import Conformance

/// What running a check leaves behind.
struct RunnerTests {
  @Test(arguments: ["D-01", "D-13", "D-41", "D-66"])
  func aCheckLetsGoOfTheImplementationsThatItMade(id: String) async throws {
    let check = try #require(Catalogue.check(id))
    let probe = WeakProbe()
    let subject = Subject<DiffusionSurface>(
      name: "watched", version: "1",
      environment: .scripted { engine in
        let sdk = SDKInstance(backend: engine) { engine.clock.nowNs }
        probe.add(sdk)
        return .runAnywhere(sdk)
      })
    let verdict = await Runner(timeout: CatalogueTests.timeout).run(check, on: subject).verdict
    #expect(verdict.kind == .pass, "\(verdict.detail)")
    // A thread of the engine may still be on its way out.
    await Timeout.until(CatalogueTests.timeout) { probe.liveCount == 0 }
    #expect(probe.liveCount == 0)
  }
}
