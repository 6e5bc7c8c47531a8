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

/// SmolLM2-135M-Instruct (Q4_1) against transformers on the same dequantised weights; needs scripts/get-smollm2.sh.
struct SmolLM2Tests {
  /// `GENBENCH_SMOLLM2`, or where the script puts the file; nil when it isn't there.
  static let path: String? = {
    let environment = ProcessInfo.processInfo.environment
    let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
    return [environment["GENBENCH_SMOLLM2"], cache + "/genbench/SmolLM2-135M-Instruct.Q4_1.gguf"].compactMap { $0 }
      .first { FileManager.default.fileExists(atPath: $0) }
  }()

  struct Attributes: Decodable {
    struct Case: Decodable, CustomStringConvertible {
      var prompt: String
      var raw: Bool
      var promptIDs: [Int]
      var ids: [Int]
      var margins: [Double]
      var stops: Bool
      var text: String
      var description: String { prompt }

      enum CodingKeys: String, CodingKey {
        case prompt, raw, ids, margins, stops, text
        case promptIDs = "prompt_ids"
      }
    }
    var maxTokens: Int
    var margin: Double
    var cases: [Case]

    enum CodingKeys: String, CodingKey {
      case margin, cases
      case maxTokens = "max_tokens"
    }
  }

  @Test(.enabled(if: path != nil, "SmolLM2 isn't installed: run scripts/get-smollm2.sh or set GENBENCH_SMOLLM2"))
  func greedy() throws {
    let golden = try #require(try Fixtures.cases(in: "vlm/smollm2").first)
    let attributes = try golden.attributes(Attributes.self)
    #expect(attributes.cases.count >= 12)
    let kernels = try makeKernels()
    let model = try LanguageModel(GGUFFile(path: try #require(Self.path)), kernels: kernels)
    let context = ExecutionContext(kernels: kernels)
    for (index, expected) in attributes.cases.enumerated() {
      let text = expected.raw ? expected.prompt : try model.template.render([ChatMessage(.user, expected.prompt)])
      let ids = model.encode(text)
      #expect(ids == expected.promptIDs, "\(expected)")
      let run = try GreedyRun(model, model.prompt(ids: ids), maxTokens: attributes.maxTokens, context)
      let certain = expected.margins.firstIndex { $0 <= attributes.margin } ?? expected.ids.count
      #expect(run.ids.prefix(certain) == expected.ids.prefix(certain), "\(expected)")
      if certain == expected.ids.count {
        let shown = expected.stops ? Array(run.ids.dropLast()) : run.ids
        #expect(model.tokenizer.decode(shown, skipsSpecialTokens: true) == expected.text)
      }
      if index == 0 {
        let first = try golden.tensor("output.first_logits")
        #expect(golden.tolerance.mismatch(actual: run.logits[0].leading(first.shape), expected: first) == nil)
      }
    }
  }
}
