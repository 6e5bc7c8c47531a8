import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing

/// The safety checker and its preprocessing against diffusers, transformers and Pillow.
struct SafetyCheckerTests {
  struct Attributes: Decodable {
    var config: StableDiffusionSafetyCheckerConfig?
    var model: String?
    var flagged: [Bool]
    var preprocessor: JSONValue
    var tolerances: [String: GoldenCase.Tolerance]
  }

  /// Weights of a case under the names that the checker is built from.
  struct CanonicalSafetyWeights: WeightSource {
    private let views: [String: WeightView]
    let location: String

    init(_ source: CaseWeights) {
      location = source.location
      views = Dictionary(
        uniqueKeysWithValues: source.weightNames.compactMap { name in
          guard let canonical = WeightKey.safetyChecker(name), let view = source.weight(named: name) else { return nil }
          return (canonical, view)
        })
    }

    var weightNames: [String] { views.keys.sorted() }
    func weight(named name: String) -> WeightView? { views[name] }
  }

  private func image(_ golden: GoldenCase, _ name: String) throws -> Bitmap {
    let view = try #require(try golden.tensors().weight(named: name))
    return Bitmap(width: view.shape[1], height: view.shape[0], samples: Array(view.bytes))
  }

  @Test(arguments: try Fixtures.cases(in: "safety/checker"), KernelChoice.allCases)
  func decisionsAndScores(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let config: StableDiffusionSafetyCheckerConfig
    let loader: ParameterLoader
    if let model = attributes.model {
      let folder = Fixtures.folder.appendingPathComponent(model).deletingLastPathComponent()
      let safety = try #require(try DiffusionCheckpoint(folder: DiffusersFolder(path: folder.path)).safetyChecker)
      config = safety.config
      loader = ParameterLoader(FileParameters(safety.weights), kernels: kernels)
    } else {
      config = try #require(attributes.config)
      loader = ParameterLoader(FileParameters(CanonicalSafetyWeights(CaseWeights(file: try golden.tensors()))), kernels: kernels)
    }
    let checker = try StableDiffusionSafetyChecker(config: config, loader: loader)
    let processor = CLIPImageProcessor(
      config: try CLIPImageProcessorConfig(json: attributes.preprocessor, file: golden.id))
    let pixels = Tensor.concatenated(try attributes.flagged.indices.map { processor(try image(golden, "input.image.\($0)")) })
    let scores = try checker(pixels, ExecutionContext(kernels: kernels))
    #expect(scores.map(\.isFlagged) == attributes.flagged)

    let tolerance = try #require(attributes.tolerances["concept_scores"])
    let concept = Tensor(scores.flatMap(\.concept), shape: [scores.count, 17])
    let special = Tensor(scores.flatMap(\.special), shape: [scores.count, 3])
    #expect(tolerance.mismatch(actual: concept, expected: try golden.tensor("output.concept_scores")) == nil)
    #expect(tolerance.mismatch(actual: special, expected: try golden.tensor("output.special_scores")) == nil)
  }

  struct Preprocess: Decodable {
    var preprocessor: JSONValue?
    var config: JSONValue?
  }

  @Test(arguments: try Fixtures.cases(in: "safety/preprocess"))
  func preprocessing(_ golden: GoldenCase) throws {
    let attributes = try golden.attributes(Preprocess.self)
    let json = try #require(attributes.preprocessor ?? attributes.config)
    let processor = CLIPImageProcessor(config: try CLIPImageProcessorConfig(json: json, file: golden.id))
    try golden.expect(processor(image(golden, "input.image")), "output.pixel_values")
  }
}
