import Checkpoints
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing
import Tokenizers
import VisionLanguageModels

/// The small models against transformers: pixels, ids, features, logits of every step, tokens.
struct VisionLanguageModelTests {
  struct Attributes: Decodable {
    var prompt: String
    var text: String
    var promptIDs: [Int]
    var ids: [Int]
    var margins: [Double]
    var maxTokens: Int
    var answer: String
    var rows: Int?
    var columns: Int?

    enum CodingKeys: String, CodingKey {
      case prompt, text, ids, margins, answer, rows, columns
      case promptIDs = "prompt_ids"
      case maxTokens = "max_tokens"
    }
  }

  /// `vlm/smolvlm/image-40x30` is of `smolvlm`.
  private static func variant(_ golden: GoldenCase) -> String { String(golden.id.split(separator: "/")[1]) }

  private static func bitmap(_ golden: GoldenCase) throws -> Bitmap {
    let tensor = try golden.tensor("input.image")
    return Bitmap(width: tensor.shape[1], height: tensor.shape[0], samples: tensor.elements.map { UInt8($0) })
  }

  static func cases(images: Bool) throws -> [GoldenCase] {
    try (Fixtures.cases(in: "vlm/smolvlm") + Fixtures.cases(in: "vlm/qwen2vl")).filter { $0.id.contains("/image-") == images }
  }

  @Test func everyCaseIsThere() throws {
    #expect(try Self.cases(images: true).count == 8)
    #expect(try Self.cases(images: false).count == 2)
  }

  @Test(arguments: try cases(images: true))
  func pixels(_ golden: GoldenCase) throws {
    let model = try openModel(Self.variant(golden))
    let attributes = try golden.attributes(Attributes.self)
    let image = try model.vision.preprocess(Self.bitmap(golden))
    #expect(image.rows == attributes.rows)
    #expect(image.columns == attributes.columns)
    // The golden holds the 8-bit levels, from which the script checked that transformers' values follow.
    let levels = try golden.tensor("output.pixels")
    try #require(image.pixels.shape == levels.shape)
    let (mean, deviation) = (model.vision.config.imageMean, model.vision.config.imageStandardDeviation)
    let plane = levels.shape[2] * levels.shape[3]
    let expected = Tensor(
      levels.elements.enumerated().map { index, level in
        let channel = index / plane % 3
        return (level / 255 - mean[channel]) / deviation[channel]
      }, shape: levels.shape)
    let tolerance = GoldenCase.Tolerance(metric: .absolute, limit: 1e-6, reason: "one rounding of a number below 4")
    #expect(tolerance.mismatch(actual: image.pixels, expected: expected) == nil)
  }

  @Test(arguments: try cases(images: true), KernelChoice.allCases)
  func image(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let model = try openModel(Self.variant(golden), choice)
    let attributes = try golden.attributes(Attributes.self)
    let context = ExecutionContext(kernels: try makeKernels(choice))
    let template = try model.language.template
    let text = try template.render([ChatMessage(.user, [.image, .text(attributes.prompt)])])
    #expect(text == attributes.text)

    let image = try model.vision.preprocess(Self.bitmap(golden))
    let ids = try model.ids(text, image: image)
    try #require(ids == attributes.promptIDs)
    let features = try model.vision.features(of: image, context)
    let wanted = try golden.tensor("output.features")
    #expect(golden.tolerance.mismatch(actual: features, expected: wanted) == nil)
    #expect(model.tokenCount(of: image) == features.shape[0])

    let prompt = model.prompt(ids: ids, image: image, features: features)
    try check(golden, attributes, model.language, prompt, context)
  }

  @Test(arguments: try cases(images: false), KernelChoice.allCases)
  func text(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let model = try openModel(Self.variant(golden), choice).language
    let attributes = try golden.attributes(Attributes.self)
    let context = ExecutionContext(kernels: try makeKernels(choice))
    let text = try model.template.render([ChatMessage(.user, attributes.prompt)])
    #expect(text == attributes.text)
    let ids = model.encode(text)
    try #require(ids == attributes.promptIDs)
    let prompt = model.prompt(ids: ids)
    var cache = KVCache(model.decoder.config, capacity: ids.count)
    let all = try model.decoder.allLogits(prompt.embeddings, positions: prompt.positions, cache: &cache, context)
    #expect(golden.tolerance.mismatch(actual: all, expected: try golden.tensor("output.prompt_logits")) == nil)
    try check(golden, attributes, model, prompt, context)
  }

  private func check(
    _ golden: GoldenCase, _ attributes: Attributes, _ model: LanguageModel, _ prompt: PreparedPrompt, _ context: ExecutionContext
  ) throws {
    let run = try GreedyRun(model, prompt, maxTokens: attributes.maxTokens, context)
    // Two logits closer than this may change places by rounding; from there on the answers may differ.
    let certain = attributes.margins.firstIndex { $0 < 1e-3 } ?? attributes.ids.count
    #expect(run.ids.prefix(certain) == attributes.ids.prefix(certain))
    let expected = try golden.tensor("output.logits")
    let steps = min(certain + 1, attributes.ids.count)
    let actual = Tensor.concatenated(run.logits.prefix(steps).map { $0.reshaped(to: [1, $0.count]) })
    // The fast kernels take one token's activations to 16 bits where weights are in blocks.
    let fast = GoldenCase.Tolerance(
      metric: .relative, limit: 5e-4, reason: "2⁻¹⁶ of the largest activation of 32, through every layer")
    let tolerance = context.kernels.name == "reference" ? golden.tolerance : fast
    #expect(tolerance.mismatch(actual: actual, expected: expected.slice(0..<steps)) == nil)
    if certain == attributes.ids.count, run.ids.allSatisfy({ !model.endIDs.contains($0) }) {
      #expect(model.tokenizer.decode(run.ids, skipsSpecialTokens: true) == attributes.answer)
    }
  }

  @Test(arguments: ["smolvlm", "qwen2vl"])
  func chunkedPrefillEqualsWholePrefill(_ variant: String) throws {
    let model = try openModel(variant).language
    let context = ExecutionContext(kernels: try makeKernels())
    let ids = (0..<40).map { ($0 * 37 + 11) % model.decoder.config.vocabularySize }
    let prompt = model.prompt(ids: ids)
    var whole = KVCache(model.decoder.config, capacity: 40)
    let expected = try model.decoder.prefill(prompt.embeddings, positions: prompt.positions, cache: &whole, context)
    var pieces = KVCache(model.decoder.config, capacity: 64)
    var actual = expected
    var start = 0
    for count in [1, 2, 17, 19, 1] {
      let range = start..<(start + count)
      actual = try model.decoder.prefill(
        model.decoder.embeddings(of: ids[range]), positions: Array(prompt.positions[range]), cache: &pieces, context)
      start += count
    }
    #expect(pieces.count == whole.count)
    let tolerance = GoldenCase.Tolerance(
      metric: .relative, limit: 5e-4, reason: "single tokens meet quantised weights in 16 bits, batches in floats")
    #expect(tolerance.mismatch(actual: actual, expected: expected) == nil)
  }

  @Test func imageMarkersMustMatchTheImage() throws {
    let model = try openModel("smolvlm")
    let image = try model.vision.preprocess(Bitmap(width: 4, height: 4, samples: [UInt8](repeating: 9, count: 48)))
    #expect(throws: VisionLanguageError.self) { _ = try model.ids("no marker", image: image) }
    #expect(throws: VisionLanguageError.self) { _ = try model.ids("<image> and <image>", image: image) }
    #expect(try model.ids("<image>", image: image).count { $0 == model.language.tokenizer.id(of: "<image>") } == 40)
    #expect(model.mentionsImage(model.language.encode("a <image>")))
    #expect(!model.mentionsImage(model.language.encode("an image")))
  }

  @Test func imagesThatCannotBeTaken() throws {
    let empty = Bitmap(width: 0, height: 5, samples: [])
    for variant in ["smolvlm", "qwen2vl"] {
      let vision = try openModel(variant).vision
      #expect(throws: VisionLanguageError.self) { _ = try vision.preprocess(empty) }
    }
    let line = Bitmap(width: 402, height: 2, samples: [UInt8](repeating: 0, count: 402 * 6))
    let error = #expect(throws: VisionLanguageError.self) { _ = try openModel("qwen2vl").vision.preprocess(line) }
    #expect(error?.description.contains("402x2") == true)
    // SmolVLM takes any shape.
    #expect(try openModel("smolvlm").vision.preprocess(line).columns == 3)
  }

  @Test func transparentPixelsAreWhite() throws {
    let vision = try openModel("smolvlm").vision
    let clear = Bitmap(width: 2, height: 2, channels: 4, samples: [UInt8](repeating: 0, count: 16))
    let white = Bitmap(width: 2, height: 2, samples: [UInt8](repeating: 255, count: 12))
    #expect(try vision.preprocess(clear).pixels.elements == vision.preprocess(white).pixels.elements)
  }

  @Test func cancellationStopsTheTowerAndTheDecoder() throws {
    let model = try openModel("qwen2vl")
    let context = ExecutionContext(kernels: try makeKernels())
    let image = try model.vision.preprocess(Bitmap(width: 56, height: 56, samples: [UInt8](repeating: 9, count: 56 * 56 * 3)))
    context.cancellation.cancel()
    #expect(throws: CancelledError.self) { _ = try model.vision.features(of: image, context) }
    var cache = KVCache(model.language.decoder.config, capacity: 4)
    let prompt = model.language.prompt(ids: [1, 2])
    #expect(throws: CancelledError.self) {
      _ = try model.language.decoder.prefill(prompt.embeddings, positions: prompt.positions, cache: &cache, context)
    }
  }
}
