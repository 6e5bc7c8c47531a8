import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import PlaygroundKit
import ReferenceEngine
import Synchronization
import Tensors
import TestSupport
import Testing

/// Conversations, over an engine of words and over the one in the box.
struct LanguageModelSessionTests {
  /// Says the words that it was told to, one event each; or waits, or fails.
  final class WordBackend: GenBackend {
    private struct State {
      var requests: [TextRequest] = []
      var words = ["Salt", " and", " wind", " "]
      var error: BackendError?
      var gate: (after: Int, gate: Gate)?
      var wasCancelled = false
    }
    private let state = Mutex(State())

    var requests: [TextRequest] { state.withLock { $0.requests } }
    var wasCancelled: Bool { state.withLock { $0.wasCancelled } }
    func fail(_ code: BackendError.Code?) { state.withLock { $0.error = code.map { BackendError($0, "it fails") } } }
    func hold(after count: Int) -> Gate {
      let gate = Gate()
      state.withLock { $0.gate = (count, gate) }
      return gate
    }

    var info: BackendInfo { BackendInfo(name: "words", version: "1", capabilities: [.textGeneration]) }
    func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
      ModelInfo(id: ModelID("w"), variant: "llama", capabilities: [.textGeneration], contextLength: 200)
    }
    func unload(_ model: ModelID) async {}
    func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
      throw BackendError(.notSupported, "words only")
    }
    func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
      let (words, error, gate) = state.withLock { state in
        state.requests.append(request)
        defer { state.gate = nil }
        return (state.words, state.error, state.gate)
      }
      if let error { throw error }
      var text = ""
      for (index, word) in words.prefix(request.maxTokens).enumerated() {
        if let gate, gate.after == index { await gate.gate.wait() }
        if control.cancellation.isCancelled {
          state.withLock { $0.wasCancelled = true }
          throw BackendError(.cancelled, "stopped")
        }
        text += word
        control.onEvent(.token(id: index, text: word, timeNs: 0))
      }
      return TextResult(
        text: text, ids: Array(words.indices), promptIDs: [1], finishReason: .stop, timeToFirstTokenNs: 1, totalNs: 2,
        prefillTokensPerSecond: nil, decodeTokensPerSecond: nil)
    }
  }

  /// Lets an engine wait for a test.
  final class Gate: Sendable {
    private let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
    private let (openings, opening) = AsyncStream.makeStream(of: Void.self)
    func wait() async {
      arrive.yield()
      for await _ in openings { return }
    }
    func arrived() async { for await _ in arrivals { return } }
    func open() { opening.finish() }
  }

  private func model(_ environment: PlaygroundEnvironment = PlaygroundEnvironment()) async throws -> (
    SystemLanguageModel, WordBackend
  ) {
    let backend = WordBackend()
    let info = try await backend.load(LoadRequest(path: "any"), control: GenerationControl())
    return (SystemLanguageModel(backend: backend, model: info, environment: environment), backend)
  }

  @Test func anAnswerIsRememberedAndTheNextQuestionKnowsIt() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model, instructions: "Answer with three words.")
    let response = try await session.respond(to: "What is the sea?")
    #expect(response.content == "Salt and wind")
    #expect(response.transcriptEntries == [.prompt("What is the sea?"), .response("Salt and wind")])
    try await session.respond(to: "And the sky?", options: GenerationOptions(maximumResponseTokens: 1))
    #expect(
      session.transcript.entries == [
        .instructions("Answer with three words."), .prompt("What is the sea?"), .response("Salt and wind"),
        .prompt("And the sky?"), .response("Salt"),
      ])
    let request = try #require(backend.requests.last)
    #expect(request.prompt == "And the sky?" && request.maxTokens == 1 && request.sampling.temperature == 0)
    #expect(
      request.turns == [
        .init(.system, "Answer with three words."), .init(.user, "What is the sea?"), .init(.assistant, "Salt and wind"),
      ])
    let later = LanguageModelSession(model: model, transcript: session.transcript)
    #expect(later.transcript == session.transcript && !later.isResponding)
  }

  @Test func aStreamGrowsToTheWholeAnswer() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model)
    let stream = session.streamResponse(to: "What is the sea?")
    #expect(backend.requests.isEmpty, "nothing is made before the first element is awaited")
    var last = ""
    for try await snapshot in stream {
      #expect(snapshot.content.hasPrefix(last) || last.hasPrefix(snapshot.content))
      last = snapshot.content
    }
    #expect(last == "Salt and wind" && session.transcript.entries.count == 2)
    #expect(try await session.streamResponse(to: "Again?").collect().content == "Salt and wind")
  }

  @Test func leavingTheStreamStopsTheEngineAndIsForgotten() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model)
    let gate = backend.hold(after: 1)
    for try await snapshot in session.streamResponse(to: "What is the sea?") {
      #expect(snapshot.content == "Salt" && session.isResponding)
      break
    }
    gate.open()
    while session.isResponding { await Task.yield() }
    #expect(backend.wasCancelled && session.transcript.entries.isEmpty)
    #expect(try await session.respond(to: "Again?").content == "Salt and wind")
  }

  @Test func oneAnswerAtATime() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model)
    let gate = backend.hold(after: 0)
    let first = Task { try await session.respond(to: "What is the sea?").content }
    await gate.arrived()
    let error = await #expect(throws: LanguageModelSession.GenerationError.self) { try await session.respond(to: "Now?") }
    guard case .concurrentRequests = error else {
      Issue.record("\(error as Any)")
      return
    }
    gate.open()
    #expect(try await first.value == "Salt and wind" && session.transcript.entries.count == 2)
  }

  @Test func cancellingTheTaskThrowsCancellationError() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model)
    let gate = backend.hold(after: 1)
    let task = Task { try await session.respond(to: "What is the sea?").content }
    await gate.arrived()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(session.transcript.entries.isEmpty && !session.isResponding)
  }

  @Test func availabilityTellsWhyNot() async throws {
    #expect(SystemLanguageModel.default.availability == .unavailable(.modelNotReady))
    var environment = PlaygroundEnvironment()
    #expect(try await model(environment).0.availability == .available)
    environment.isEnabledByUser = false
    #expect(try await model(environment).0.availability == .unavailable(.appleIntelligenceNotEnabled))
    environment.isDeviceCapable = false
    let (unable, _) = try await model(environment)
    #expect(unable.availability == .unavailable(.deviceNotEligible) && !unable.isAvailable && unable.contextSize == 200)
    let error = await #expect(throws: LanguageModelSession.GenerationError.self) {
      try await LanguageModelSession(model: unable).respond(to: "Hello?")
    }
    guard case .assetsUnavailable = error else {
      Issue.record("\(error as Any)")
      return
    }
  }

  @Test func mistakesAreToldApart() async throws {
    let (model, backend) = try await model()
    let session = LanguageModelSession(model: model)
    func kind(_ prompt: String, _ options: GenerationOptions = GenerationOptions()) async -> String {
      do {
        _ = try await session.respond(to: prompt, options: options)
        return "answer"
      } catch let error as LanguageModelSession.GenerationError {
        #expect(error.errorDescription?.isEmpty == false)
        return String("\(error)".prefix { $0 != "(" })
      } catch { return "\(type(of: error))" }
    }
    #expect(await kind(" ") == "unsupportedGuide")
    #expect(await kind("что такое море") == "unsupportedLanguageOrLocale")
    for options in [
      GenerationOptions(maximumResponseTokens: 0), .init(temperature: 3), .init(temperature: .nan),
      .init(sampling: .random(top: 0)),
      .init(sampling: .random(probabilityThreshold: -1)),
    ] {
      #expect(await kind("Hello?", options) == "unsupportedGuide")
    }
    #expect(backend.requests.isEmpty)
    let codes: [(BackendError.Code, String)] = [
      (.processingFailed, "decodingFailure"), (.busy, "rateLimited"), (.unavailable, "assetsUnavailable"),
      (.outOfMemory, "exceededContextWindowSize"), (.invalidInput, "unsupportedGuide"), (.cancelled, "CancellationError"),
    ]
    for (code, wanted) in codes {
      backend.fail(code)
      #expect(await kind("Hello?") == wanted, "\(code)")
    }
    backend.fail(.invalidInput)
    #expect(await kind(String(repeating: "long ", count: 60)) == "exceededContextWindowSize")
    backend.fail(nil)
    #expect(session.transcript.entries.isEmpty, "what failed isn't remembered")
    #expect(await kind("Hello?", .init(sampling: .random(top: 5, seed: 3), temperature: 0.5)) == "answer")
    let sampling = backend.requests.last?.sampling
    #expect(sampling?.topK == 5 && sampling?.seed == 3 && sampling?.temperature == 0.5)
  }

  @Test func theEngineInTheBoxAnswersTheSameEachTime() async throws {
    let backend = try ReferenceBackend(options: ReferenceBackend.Options(threads: 2))
    let folder = Fixtures.folder.appendingPathComponent("Models/smolvlm").path
    let info = try await backend.load(
      LoadRequest(path: folder + "/model.gguf", projectorPath: folder + "/mmproj.gguf"), control: GenerationControl())
    let model = SystemLanguageModel(backend: backend, model: info)
    #expect(model.availability == .available && model.contextSize == 512)
    let options = GenerationOptions(sampling: .greedy, maximumResponseTokens: 8)
    var answers: [String] = []
    for instructions in [nil, nil, "Speak of the sea."] {
      let session = LanguageModelSession(model: model, instructions: instructions)
      answers.append(try await session.respond(to: "what is in this picture ?", options: options).content)
      var last = ""
      for try await snapshot in session.streamResponse(to: "and there ?", options: options) { last = snapshot.content }
      #expect(session.transcript.entries.last?.text == last)
    }
    #expect(answers[0] == answers[1])
    // Instructions are in front of the prompt.
    var request = TextRequest(model: info.id, prompt: "what ?", maxTokens: 1)
    let short = try await backend.generateText(request, control: GenerationControl()).promptIDs
    request.turns = [.init(.system, "the picture"), .init(.user, "what ?"), .init(.assistant, "a")]
    let long = try await backend.generateText(request, control: GenerationControl()).promptIDs
    #expect(long.count > short.count + 8 && Array(long.suffix(4)) == Array(short.suffix(4)))
    // Too long a conversation leaves no room.
    let session = LanguageModelSession(model: model)
    let error = await #expect(throws: LanguageModelSession.GenerationError.self) {
      try await session.respond(to: String(repeating: "what is in this picture ? ", count: 80))
    }
    guard case .exceededContextWindowSize = error else {
      Issue.record("\(error as Any)")
      return
    }
    request.isRaw = true
    await #expect(throws: BackendError.self) { try await backend.generateText(request, control: GenerationControl()) }
    request.isRaw = false
    request.turns = [.init(.user, "a"), .init(.system, "b")]
    await #expect(throws: BackendError.self) { try await backend.generateText(request, control: GenerationControl()) }
  }
}
