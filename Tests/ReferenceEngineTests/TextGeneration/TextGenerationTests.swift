import Foundation
import GenBackend
import Goldens
import ReferenceEngine
import Synchronization
import Tensors
import TestSupport
import Testing

/// Text and image requests through the engine: results equal transformers', events are in order, mistakes are told.
struct TextGenerationTests {
  struct Attributes: Decodable {
    var prompt: String
    var promptIDs: [Int]
    var ids: [Int]
    var margins: [Double]
    var answer: String
    enum CodingKeys: String, CodingKey {
      case prompt, ids, margins, answer
      case promptIDs = "prompt_ids"
    }
  }

  private func load(_ backend: ReferenceBackend, _ variant: String, projector: Bool = true) async throws -> ModelInfo {
    let folder = smallModel(variant)
    return try await backend.load(
      LoadRequest(path: folder + "/model.gguf", projectorPath: projector ? folder + "/mmproj.gguf" : nil),
      control: GenerationControl())
  }

  private static func picture(_ golden: GoldenCase) throws -> Bitmap {
    let tensor = try golden.tensor("input.image")
    return Bitmap(width: tensor.shape[1], height: tensor.shape[0], samples: tensor.elements.map { UInt8($0) })
  }

  private static let square = Bitmap(width: 8, height: 8, samples: [UInt8](repeating: 90, count: 192))

  /// The trained model, whose answers mean something.
  @Test(arguments: try Fixtures.cases(in: "small-models/smolvlm"))
  func theTrainedModelAnswersAsWithTransformers(_ golden: GoldenCase) async throws {
    let attributes = try golden.attributes(Attributes.self)
    try #require(attributes.margins.allSatisfy { $0 > 1e-2 })
    let backend = try makeBackend()
    let path = Fixtures.folder.appendingPathComponent("Models/smolvlm").path
    let info = try await backend.load(
      LoadRequest(path: path + "/model.gguf", projectorPath: path + "/mmproj.gguf"), control: GenerationControl())
    let request = TextRequest(model: info.id, prompt: attributes.prompt, image: try Self.picture(golden), maxTokens: 60)
    let result = try await backend.generateText(request, control: GenerationControl())
    #expect(result.promptIDs == attributes.promptIDs)
    #expect(result.text == attributes.answer && result.finishReason == .stop)
  }

  @Test(arguments: ["smolvlm/image-7x61", "qwen2vl/image-60x60"])
  func describesAsTransformersDoes(_ id: String) async throws {
    let golden = try #require(try Fixtures.cases(in: "vlm/" + id).first)
    let attributes = try golden.attributes(Attributes.self)
    try #require(attributes.margins.allSatisfy { $0 > 1e-2 })
    let backend = try makeBackend()
    let variant = String(id.prefix(7))
    let info = try await load(backend, variant)
    #expect(info.variant == variant)
    #expect(info.capabilities == [.textGeneration, .imageUnderstanding])
    #expect(info.contextLength == 256)
    let log = EventLog()
    var request = TextRequest(model: info.id, prompt: attributes.prompt, image: try Self.picture(golden), maxTokens: 10)
    let result = try await backend.generateText(request, control: log.control)
    #expect(result.promptIDs == attributes.promptIDs)
    #expect(result.ids == attributes.ids)
    #expect(result.text == attributes.answer)
    #expect(result.finishReason == .length)
    #expect(result.timeToFirstTokenNs <= result.totalNs)

    var stages: [String] = []
    var tokens: [Int] = []
    var streamed = ""
    for event in log.events.withLock({ $0 }) {
      switch event {
      case .ended(let stage, _, _) where stages.last != stage.rawValue: stages.append(stage.rawValue)
      case .token(let id, let text, _):
        tokens.append(id)
        streamed += text
      default: break
      }
    }
    #expect(stages == ["image_preprocess", "tokenize", "vision_encode", "projector", "prefill", "decode"])
    #expect(tokens == result.ids)
    #expect(result.text.hasPrefix(streamed))

    // The same words again, after another request, give the same answer; fewer tokens give its beginning.
    request.maxTokens = 3
    #expect(try await backend.generateText(request, control: GenerationControl()).ids == Array(attributes.ids.prefix(3)))
  }

  @Test func seedsDecideWhatIsDrawn() async throws {
    let backend = try makeBackend()
    let info = try await load(backend, "qwen2vl", projector: false)
    #expect(info.capabilities == [.textGeneration])
    func ids(_ seed: UInt64) async throws -> [Int] {
      let request = TextRequest(
        model: info.id, prompt: "a fox", maxTokens: 12, sampling: TextRequest.Sampling(temperature: 1.5, topK: 50, seed: seed))
      return try await backend.generateText(request, control: GenerationControl()).ids
    }
    let first = try await ids(1)
    #expect(try await ids(1) == first)
    #expect(try await ids(2) != first)
  }

  @Test func theContextEndsTheAnswer() async throws {
    let backend = try makeBackend()
    let info = try await load(backend, "qwen2vl", projector: false)
    let words = String(repeating: "fox ", count: 70)
    let log = EventLog()
    let request = TextRequest(model: info.id, prompt: words, isRaw: true, maxTokens: 100_000)
    let result = try await backend.generateText(request, control: log.control)
    #expect(result.promptIDs.count < 256)
    if result.finishReason == .length {
      #expect(result.promptIDs.count + result.ids.count == 256)
      #expect(log.events.withLock { $0.contains { if case .warning = $0 { true } else { false } } })
    }
    let tooLong = TextRequest(model: info.id, prompt: words + words + words, isRaw: true)
    let error = await #expect(throws: BackendError.self) {
      _ = try await backend.generateText(tooLong, control: GenerationControl())
    }
    #expect(error?.code == .invalidInput)
    #expect(error?.message.contains("context holds 256") == true)
  }

  @Test func cancellationEndsTheAnswer() async throws {
    let backend = try makeBackend()
    let info = try await load(backend, "smolvlm")
    let token = CancellationToken()
    let seen = Mutex(0)
    let control = GenerationControl(cancellation: token) { event in
      if case .token = event {
        seen.withLock { $0 += 1 }
        if seen.withLock({ $0 }) == 2 { token.cancel() }
      }
    }
    let request = TextRequest(model: info.id, prompt: "look", image: Self.square, maxTokens: 50)
    let error = await #expect(throws: BackendError.self) { _ = try await backend.generateText(request, control: control) }
    #expect(error?.code == .cancelled)
    #expect(seen.withLock { $0 } == 2)
    #expect(try await !backend.generateText(request, control: GenerationControl()).promptIDs.isEmpty)
  }

  @Test func refusedRequests() async throws {
    let backend = try makeBackend()
    let text = try await load(backend, "smolvlm", projector: false)
    let eyes = try await load(backend, "smolvlm")
    let empty = Bitmap(width: 0, height: 3, samples: [])
    let requests: [(TextRequest, String)] = [
      (TextRequest(model: text.id, prompt: "look", image: Self.square), "without a projector"),
      (TextRequest(model: eyes.id, prompt: "look", image: empty), "at least 1x1"),
      (TextRequest(model: eyes.id, prompt: "look", image: Self.square, maxTokens: 0), "max tokens"),
      (TextRequest(model: eyes.id, prompt: "look", maxTokens: -3), "max tokens"),
      (TextRequest(model: eyes.id, prompt: "look", sampling: .init(temperature: .nan)), "temperature"),
      (TextRequest(model: eyes.id, prompt: "what is <image>?"), "none was given"),
      (TextRequest(model: eyes.id, prompt: "what is <image>?", image: Self.square), "2 times"),
      (TextRequest(model: eyes.id, prompt: "look", isRaw: true, image: Self.square), "0 times"),
      (TextRequest(model: eyes.id, prompt: "", isRaw: true), "the prompt is empty"),
    ]
    for (request, expected) in requests {
      let error = await #expect(throws: BackendError.self, "\(expected)") {
        _ = try await backend.generateText(request, control: GenerationControl())
      }
      #expect(error?.code == .invalidInput)
      #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }
    let raw = TextRequest(model: eyes.id, prompt: "<image>", isRaw: true, image: Self.square, maxTokens: 1)
    #expect(try await backend.generateText(raw, control: GenerationControl()).promptIDs.count > 40)
    let picture = await #expect(throws: BackendError.self) {
      _ = try await backend.generateImages(ImageRequest(model: eyes.id, prompt: "x"), control: GenerationControl())
    }
    #expect(picture?.code == .notSupported)
  }

  @Test func refusedFiles() async throws {
    let backend = try makeBackend()
    let (smol, qwen) = (smallModel("smolvlm"), smallModel("qwen2vl"))
    let loads: [(LoadRequest, BackendError.Code, String)] = [
      (LoadRequest(path: smol + "/mmproj.gguf"), .invalidModel, "is a projector"),
      (LoadRequest(path: smol + "/mmproj.gguf", projectorPath: smol + "/model.gguf"), .invalidModel, "is a projector"),
      (LoadRequest(path: smol + "/model.gguf", projectorPath: smol + "/model.gguf"), .invalidModel, "is a language model"),
      (LoadRequest(path: smol + "/model.gguf", projectorPath: qwen + "/mmproj.gguf"), .invalidModel, "don't belong together"),
      (LoadRequest(path: smol + "/model.gguf", projectorPath: smol + "/none.gguf"), .modelNotFound, "none.gguf"),
      (LoadRequest(path: smol + "/none.gguf", projectorPath: smol + "/mmproj.gguf"), .modelNotFound, "none.gguf"),
      (LoadRequest(path: smallModel("sd15"), projectorPath: smol + "/mmproj.gguf"), .invalidModel, ""),
      (LoadRequest(path: smol + "/model.gguf", variant: .smolvlm), .invalidInput, "without projector"),
      (
        LoadRequest(path: smol + "/model.gguf", projectorPath: smol + "/mmproj.gguf", variant: .qwen2vl), .invalidInput,
        "smolvlm"
      ),
    ]
    for (request, code, expected) in loads {
      let error = await #expect(throws: BackendError.self, "\(request.path)") {
        _ = try await backend.load(request, control: GenerationControl())
      }
      #expect(error?.code == code, "\(error?.message ?? "")")
      #expect(expected.isEmpty || error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }
  }

  @Test func whatDoesNotFitIsRefused() async throws {
    let backend = try makeBackend(memoryLimit: 10_000)
    let info = try await load(backend, "qwen2vl", projector: false)
    let error = await #expect(throws: BackendError.self) {
      _ = try await backend.generateText(TextRequest(model: info.id, prompt: "a fox"), control: GenerationControl())
    }
    #expect(error?.code == .outOfMemory)
  }
}
