public import Foundation
import GenBackend
import Synchronization
import Tensors

/// A conversation with a language model, in the shape of the FoundationModels framework.
///
/// ```swift
/// let session = LanguageModelSession(instructions: "Answer with one word.")
/// let word = try await session.respond(to: "A word related to the sea").content
/// ```
/// It remembers what was said. One answer at a time is made: a second question meanwhile ends with
/// ``GenerationError/concurrentRequests(_:)``.
public final class LanguageModelSession: Sendable {
  /// What was said.
  public struct Transcript: Sendable, Hashable {
    /// One turn.
    public enum Entry: Sendable, Hashable {
      case instructions(String)
      case prompt(String)
      case response(String)

      /// What was said.
      public var text: String {
        switch self {
        case .instructions(let text), .prompt(let text), .response(let text): text
        }
      }
    }

    /// The turns, in order.
    public var entries: [Entry]
  }

  /// An answer.
  public struct Response<Content: Sendable>: Sendable {
    /// What was answered.
    public let content: Content
    /// The turns that it added to the transcript: the prompt and the answer.
    public let transcriptEntries: [Transcript.Entry]
  }

  /// Why there's no answer.
  public enum GenerationError: LocalizedError, Sendable, Hashable {
    /// What is known about it.
    public struct Context: Sendable, Hashable {
      /// A sentence for the log.
      public let debugDescription: String
      /// Makes a context.
      public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    /// No model.
    case assetsUnavailable(Context)
    /// Instructions, turns, and prompt leave no room for an answer; begin another session.
    case exceededContextWindowSize(Context)
    /// Another answer is being made.
    case concurrentRequests(Context)
    /// The prompt is in a language that isn't supported.
    case unsupportedLanguageOrLocale(Context)
    /// The options are out of their ranges, or there's no prompt.
    case unsupportedGuide(Context)
    /// The engine is at work for somebody else.
    case rateLimited(Context)
    /// The engine failed.
    case decodingFailure(Context)

    /// The sentence.
    public var errorDescription: String? {
      switch self {
      case .assetsUnavailable(let context), .exceededContextWindowSize(let context), .concurrentRequests(let context),
        .unsupportedLanguageOrLocale(let context), .unsupportedGuide(let context), .rateLimited(let context),
        .decodingFailure(let context):
        context.debugDescription
      }
    }
  }

  private struct State {
    var entries: [Transcript.Entry]
    var isResponding = false
  }

  private let model: SystemLanguageModel
  private let state: Mutex<State>

  /// Begins a conversation.
  ///
  /// - Parameters:
  ///   - model: The model; the default one unless another is named.
  ///   - instructions: How to answer; nil for the model's own way.
  public init(model: SystemLanguageModel = .default, instructions: String? = nil) {
    self.model = model
    let text = instructions.flatMap { $0.isEmpty ? nil : $0 }
    state = Mutex(State(entries: text.map { [.instructions($0)] } ?? []))
  }

  /// Goes on with a conversation.
  public init(model: SystemLanguageModel = .default, transcript: Transcript) {
    self.model = model
    state = Mutex(State(entries: transcript.entries))
  }

  /// What was said so far; an answer belongs to it when it's complete.
  public var transcript: Transcript { Transcript(entries: state.withLock { $0.entries }) }

  /// Whether an answer is being made.
  public var isResponding: Bool { state.withLock { $0.isResponding } }

  /// Answers.
  ///
  /// - Throws: ``GenerationError``; `CancellationError` when the task is cancelled. What failed isn't remembered.
  @discardableResult
  public func respond(to prompt: String, options: GenerationOptions = GenerationOptions()) async throws -> Response<String> {
    try await answer(to: prompt, options: options) { _ in }
  }

  /// Answers bit by bit: each element is the whole answer so far.
  ///
  /// Nothing is made before the first element is awaited. Leaving the loop stops the engine, and nothing is remembered then.
  public func streamResponse(to prompt: String, options: GenerationOptions = GenerationOptions()) -> ResponseStream {
    ResponseStream(session: self, prompt: prompt, options: options)
  }

  // MARK: - One answer

  func answer(
    to prompt: String, options: GenerationOptions, onSnapshot: @escaping @Sendable (String) -> Void
  ) async throws -> Response<String> {
    let earlier = try state.withLock { state throws(GenerationError) in
      guard !state.isResponding else {
        throw .concurrentRequests(.init(debugDescription: "the session is still answering; wait for it or use another session"))
      }
      state.isResponding = true
      return state.entries
    }
    defer { state.withLock { $0.isResponding = false } }
    let (backend, request) = try engineRequest(prompt, earlier: earlier, options: options)
    let text = Mutex("")
    let token = CancellationToken()
    let control = GenerationControl(cancellation: token) { event in
      guard case .token(_, let piece, _) = event, !piece.isEmpty else { return }
      onSnapshot(
        text.withLock { text in
          text += piece
          return text
        })
    }
    await model.turn.take()
    let outcome: Result<TextResult, any Error>
    do {
      outcome = .success(
        try await withTaskCancellationHandler {
          try await backend.generateText(request, control: control)
        } onCancel: {
          token.cancel()
        })
    } catch { outcome = .failure(error) }
    await model.turn.give()
    if token.isCancelled { throw CancellationError() }
    switch outcome {
    case .failure(let error): throw translated(error, request)
    case .success(let result):
      let answer = result.text.trimmingCharacters(in: .whitespacesAndNewlines)
      let added: [Transcript.Entry] = [.prompt(prompt), .response(answer)]
      state.withLock { $0.entries += added }
      return Response(content: answer, transcriptEntries: added)
    }
  }

  private func engineRequest(_ prompt: String, earlier: [Transcript.Entry], options: GenerationOptions) throws(GenerationError)
    -> (
      any GenBackend, TextRequest
    )
  {
    guard model.isAvailable, let backend = model.backend, let info = model.model else {
      throw .assetsUnavailable(.init(debugDescription: "the model is \(model.availability)"))
    }
    guard prompt.contains(where: { !$0.isWhitespace }) else {
      throw .unsupportedGuide(.init(debugDescription: "the prompt is empty"))
    }
    guard model.supports(prompt) else {
      throw .unsupportedLanguageOrLocale(.init(debugDescription: "the prompt is in a language that isn't supported"))
    }
    if let tokens = options.maximumResponseTokens, tokens < 1 {
      throw .unsupportedGuide(.init(debugDescription: "maximumResponseTokens: expected at least 1, found \(tokens)"))
    }
    var request = TextRequest(model: info.id, prompt: prompt)
    request.turns = earlier.map { entry in
      switch entry {
      case .instructions(let text): TextRequest.Turn(.system, text)
      case .prompt(let text): TextRequest.Turn(.user, text)
      case .response(let text): TextRequest.Turn(.assistant, text)
      }
    }
    request.maxTokens = options.maximumResponseTokens ?? max(1, info.contextLength ?? 512)
    request.sampling = try sampling(options)
    return (backend, request)
  }

  /// Whether a request may have more tokens than the model holds: a token has at least one byte, and a turn's marks have few.
  private func mayExceedContext(_ request: TextRequest) -> Bool {
    guard let context = model.model?.contextLength else { return false }
    return (request.turns.map(\.text) + [request.prompt]).reduce(64) { $0 + $1.utf8.count + 64 } >= context
  }

  private func sampling(_ options: GenerationOptions) throws(GenerationError) -> TextRequest.Sampling {
    var sampling = TextRequest.Sampling()
    if let temperature = options.temperature, !(0...2).contains(temperature) {
      throw .unsupportedGuide(.init(debugDescription: "temperature: expected 0...2, found \(temperature)"))
    }
    switch options.sampling?.kind {
    case nil: sampling.temperature = options.temperature ?? 0
    case .greedy: sampling.temperature = 0
    case .top(let k, let seed):
      guard k >= 1 else { throw .unsupportedGuide(.init(debugDescription: "top: expected at least 1, found \(k)")) }
      sampling.temperature = options.temperature ?? 1
      sampling.topK = k
      sampling.seed = seed ?? .random(in: 0 ... .max)
    case .probability(let threshold, let seed):
      guard (0...1).contains(threshold) else {
        throw .unsupportedGuide(.init(debugDescription: "probabilityThreshold: expected 0...1, found \(threshold)"))
      }
      sampling.temperature = options.temperature ?? 1
      sampling.topP = threshold
      sampling.seed = seed ?? .random(in: 0 ... .max)
    }
    if options.sampling == nil, options.temperature != nil { sampling.seed = .random(in: 0 ... .max) }
    return sampling
  }

  private func translated(_ error: any Error, _ request: TextRequest) -> any Error {
    guard let error = error as? BackendError else { return GenerationError.decodingFailure(.init(debugDescription: "\(error)")) }
    let context = GenerationError.Context(debugDescription: error.message)
    switch error.code {
    case .notLoaded, .modelNotFound, .invalidModel, .unavailable, .notSupported: return GenerationError.assetsUnavailable(context)
    case .outOfMemory: return GenerationError.exceededContextWindowSize(context)
    case .invalidInput:
      // What else could be wrong with it was looked at before.
      return mayExceedContext(request)
        ? GenerationError.exceededContextWindowSize(context) : GenerationError.unsupportedGuide(context)
    case .busy: return GenerationError.rateLimited(context)
    case .cancelled: return CancellationError()
    case .processingFailed: return GenerationError.decodingFailure(context)
    }
  }
}
