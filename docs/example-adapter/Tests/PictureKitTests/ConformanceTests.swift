import Conformance
import Foundation
import Testing

/// The catalogue over PictureKit: each check is a test under its own id.
@Suite(.serialized) struct ConformanceTests {
  /// Any folder with a model that the SDK can open; here the small one of genbench.
  static let model = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../../Fixtures/Models/sd15").standardizedFileURL.path

  static let subject = Subject<DiffusionSurface>(
    name: "PictureKit", version: "1.0",
    environment: Environment(
      "its own engine",
      // Its pictures don't show what prompts say, so group S is skipped; leave the last argument out for a model that was trained.
      facts: .init(models: [.sd15: model], checkedVariants: [], promptedVariants: [])
    ) { _, _ in .init(pictureKit()) })

  /// What is known to fail goes in here, with a reason and a day: it's then reported, and doesn't break the build.
  static let known = ExpectedFailures(entries: [])

  @Test(arguments: Catalogue.all.filter { $0.environments.contains(.engine) }.map(\.id))
  func conforms(_ id: String) async throws {
    let check = try #require(Catalogue.check(id))
    let verdict = await Runner(expected: Self.known).run(check, on: Self.subject).verdict
    switch verdict {
    case .fail, .error, .unexpectedPass: Issue.record("\(id): \(check.statement) \(verdict.detail)")
    case .pass, .skip, .expectedFail: break
    }
  }
}
