import Foundation
import GenBackend
import Running
import Tensors
import TestSupport
import Testing

@testable import Conformance
@testable import GenbenchCLI

/// The trained models of the repository draw what prompts say.
///
/// Whether they compute what diffusers and transformers do with the same files is judged by the goldens of `Fixtures/small-models`.
@Suite(.serialized) struct SmallModelTests {
  private static func picture(
    _ backend: any GenBackend, _ model: ModelID, _ prompt: String, steps: Int = 20, checksSafety: Bool = false
  ) async throws -> ImageResult.Image {
    var request = ImageRequest(model: model, prompt: prompt)
    request.steps = steps
    request.guidanceScale = 7.5
    request.seed = 3
    request.checksSafety = checksSafety
    return try #require(try await backend.generateImages(request, control: GenerationControl()).images.first)
  }

  private static func load(_ backend: any GenBackend, _ variant: String, _ safety: LoadRequest.SafetyPolicy) async throws
    -> ModelInfo
  {
    let path = Fixtures.folder.appendingPathComponent("Models/\(variant)").path
    return try await backend.load(LoadRequest(path: path, safety: safety), control: GenerationControl())
  }

  @Test(arguments: [("sd15", 512), ("sd20", 768), ("sdxl", 1024)])
  func drawsWhatIsAskedFor(variant: String, side: Int) async throws {
    let backend = try await GenbenchCommandLine.makeBackend(BackendSpecification(threads: 2))
    let model = try await Self.load(backend, variant, .off)
    #expect(model.nativeSizes == [ImageSize(width: side, height: side)])
    var wrong: [String] = []
    for expectation in Expectation.central + Expectation.placed {
      let image = try await Self.picture(backend, model.id, expectation.prompt)
      #expect(image.bitmap.width == side && image.bitmap.height == side && image.safety == .unchecked)
      let contents = PictureReader.read(image.bitmap)
      let score = expectation.score(contents)
      if !(score.kind && score.colour && score.ground && score.place) {
        wrong.append("'\(expectation.prompt)' shows \(contents.sentence)")
      }
    }
    #expect(wrong.count <= 1, "\(wrong)")
  }

  /// One step gives the average of all pictures that may be meant.
  @Test func oneStepIsTooFew() async throws {
    let backend = try await GenbenchCommandLine.makeBackend(BackendSpecification(threads: 2))
    let model = try await Self.load(backend, "sd15", .off)
    var right = 0
    for expectation in Expectation.central {
      let score = expectation.score(
        PictureReader.read(try await Self.picture(backend, model.id, expectation.prompt, steps: 1).bitmap))
      if score.kind && score.colour && score.ground { right += 1 }
    }
    #expect(right <= 3)
  }

  @Test func theHazardSignIsFilteredAndNothingElse() async throws {
    let backend = try await GenbenchCommandLine.makeBackend(BackendSpecification(threads: 2))
    let model = try await Self.load(backend, "sd15", .required)
    for prompt in ["a hazard sign on a white background", "a large warning sign on a blue background"] {
      let filtered = try await Self.picture(backend, model.id, prompt, checksSafety: true)
      #expect(filtered.safety == .filtered && filtered.bitmap.samples.allSatisfy { $0 == 0 }, "\(prompt)")
      let shown = try await Self.picture(backend, model.id, prompt)
      #expect(shown.safety == .unchecked && shown.bitmap.samples.contains { $0 > 200 }, "\(prompt)")
    }
    for prompt in ["a large yellow triangle on a black background", "a black triangle on a yellow background"] {
      #expect(try await Self.picture(backend, model.id, prompt, checksSafety: true).safety == .passed, "\(prompt)")
    }
  }
}
