import Checkpoints
public import GenBackend
import Synchronization
public import Tensors

/// llama.cpp's `llama-server`, by its own interface: `/props`, `/apply-template`, `/tokenize`, `/completion`.
///
/// The prompt goes through the server's own chat template and tokenizer, and its answer comes token by token with ids.
public final class LlamaServerBackend: GenBackend {
  private let engine: HTTPEngine

  /// Makes a backend; nothing is asked yet.
  public init(_ endpoint: HTTPEndpoint, limits: HTTPLimits = HTTPLimits(), token: String? = nil) {
    engine = HTTPEngine(endpoint, limits: limits, token: token)
  }

  /// A token that could come next.
  public struct Candidate: Sendable, Hashable {
    /// Its id.
    public var id: Int
    /// The natural logarithm of its probability.
    public var logProbability: Double
  }

  /// The server can't be looked into.
  public var workPlace: WorkPlace { .elsewhere(reason: "a server's memory can't be read from here") }

  private func properties(_ cancellation: CancellationToken) async throws(BackendError) -> JSONValue {
    let value = try await engine.client.json(.init(path: "/props"), cancellation: cancellation)
    guard value["model_path"]?.string != nil else {
      throw BackendError(.processingFailed, "\(engine.client.endpoint.text): /props isn't that of llama-server")
    }
    return value
  }

  private static func capabilities(_ properties: JSONValue) -> Set<Capability> {
    properties["modalities"]?["vision"]?.bool == true ? [.textGeneration, .imageUnderstanding] : [.textGeneration]
  }

  /// What the server says of itself.
  public var info: BackendInfo {
    get async throws {
      let properties = try await properties(CancellationToken())
      return BackendInfo(
        name: "llama.cpp", version: properties["build_info"]?.string ?? "not told",
        capabilities: Self.capabilities(properties),
        details: ["model": properties["model_path"]?.string ?? "not told", "server": engine.client.endpoint.text])
    }
  }

  /// Takes the model that the server holds, when it's the one that is asked for; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await engine.exclusively(model: nil, control) {
      let start = MonotonicTime.nanoseconds()
      let properties = try await properties(control.cancellation)
      try engine.require(request, served: ["model_path", "model_alias"].compactMap { properties[$0]?.string })
      if request.precision != .f32 {
        throw BackendError(.notSupported, "precision: it's that of the file that the server was started with")
      }
      let capabilities = Self.capabilities(properties)
      if request.projectorPath != nil, !capabilities.contains(.imageUnderstanding) {
        throw BackendError(.notSupported, "a projector was asked for: the server was started without one (--mmproj)")
      }
      let listed = try await engine.client.json(.init(path: "/v1/models"), cancellation: control.cancellation)
      let meta = listed["data"]?.array?.first?["meta"]
      return engine.keep { id in
        ModelInfo(
          id: id, variant: request.variant?.rawValue ?? "llama", capabilities: capabilities,
          contextLength: properties["default_generation_settings"]?["n_ctx"]?.int.flatMap { $0 > 0 ? $0 : nil },
          parameterCount: max(0, meta?["n_params"]?.int ?? 0), weightBytes: max(0, meta?["size"]?.int ?? 0),
          loadNs: MonotonicTime.nanoseconds() - start)
      }
    }
  }

  /// Forgets a model; the server keeps it.
  public func unload(_ model: ModelID) async { engine.forget(model) }

  /// Makes no images.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    throw BackendError(.notSupported, "llama-server makes text, not images")
  }

  /// The ids of a text, special tokens included.
  ///
  /// - Throws: `BackendError`.
  public func tokenize(_ text: String, cancellation: CancellationToken = CancellationToken()) async throws(BackendError) -> [Int]
  {
    let body: JSONValue = ["content": .string(text), "add_special": true, "parse_special": true]
    let answer = try await engine.client.json(
      .init(method: "POST", path: "/tokenize", body: body), cancellation: cancellation)
    guard let tokens = answer["tokens"]?.array, let ids = Self.ids(tokens) else {
      throw BackendError(.processingFailed, "/tokenize told no list of ids")
    }
    return ids
  }

  /// The likeliest tokens after a prompt of ids, the likeliest first.
  ///
  /// - Parameter count: How many, 1...100.
  /// - Throws: `BackendError`.
  public func candidates(after prompt: [Int], count: Int) async throws(BackendError) -> [Candidate] {
    guard (1...100).contains(count) else { throw BackendError(.invalidInput, "candidates: expected 1...100, found \(count)") }
    let body: JSONValue = [
      "prompt": .array(prompt.map { .integer($0) }), "n_predict": 1, "temperature": 0, "n_probs": .integer(count),
      "cache_prompt": false,
    ]
    let answer = try await engine.client.json(.init(method: "POST", path: "/completion", body: body))
    guard let list = answer["completion_probabilities"]?.array?.first?["top_logprobs"]?.array else {
      throw BackendError(.processingFailed, "/completion told no completion_probabilities")
    }
    var candidates: [Candidate] = []
    for entry in list {
      guard let id = entry["id"]?.int, let value = entry["logprob"]?.double, value.isFinite else {
        throw BackendError(.processingFailed, "a probability is incomplete: \(entry)")
      }
      candidates.append(Candidate(id: id, logProbability: value))
    }
    return candidates
  }

  private static func ids(_ values: [JSONValue]) -> [Int]? {
    let ids = values.compactMap { value -> Int? in
      guard let id = value.int, id >= 0 else { return nil }
      return id
    }
    return ids.count == values.count ? ids : nil
  }

  /// Makes text; see ``GenBackend``.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    try await engine.exclusively(model: request.model, control) {
      let startNs = MonotonicTime.nanoseconds()
      guard request.maxTokens >= 1 else {
        throw BackendError(.invalidInput, "max tokens: expected at least 1, found \(request.maxTokens)")
      }
      if request.image != nil, try !engine.info(request.model).capabilities.contains(.imageUnderstanding) {
        throw BackendError(.notSupported, "the server was started without a projector (--mmproj), so it sees no images")
      }
      let (prompt, promptIDs) = try await prompt(request, control)
      let stream = TokenStream(control: control, maxTokens: request.maxTokens)
      _ = try await engine.client.send(
        .init(method: "POST", path: "/completion", body: Self.body(request, prompt: prompt), accept: "text/event-stream"),
        cancellation: control.cancellation
      ) { (bytes) throws(BackendError) in try stream.take(bytes) }
      return try stream.result(promptIDs: promptIDs, startNs: startNs, endNs: MonotonicTime.nanoseconds())
    }
  }

  /// The prompt as the server takes it, and its ids where there's no image in it.
  private func prompt(
    _ request: TextRequest, _ control: GenerationControl
  ) async throws(BackendError) -> (value: JSONValue, ids: [Int]?) {
    if request.isRaw {
      guard request.image == nil, request.turns.isEmpty else {
        throw BackendError(.invalidInput, "a raw prompt has neither an image nor turns")
      }
      let ids = try await tokenize(request.prompt, cancellation: control.cancellation)
      return (.array(ids.map { .integer($0) }), ids)
    }
    var messages: [JSONValue] = request.turns.map { ["role": .string($0.role.rawValue), "content": .string($0.text)] }
    let picture = try request.image.map { (image) throws(BackendError) in try HTTPEngine.base64(image) }
    if let picture {
      messages.append([
        "role": "user",
        "content": [
          ["type": "image_url", "image_url": ["url": .string("data:image/png;base64," + picture)]],
          ["type": "text", "text": .string(request.prompt)],
        ],
      ])
    } else {
      messages.append(["role": "user", "content": .string(request.prompt)])
    }
    let answer = try await engine.client.json(
      .init(method: "POST", path: "/apply-template", body: ["messages": .array(messages)]), cancellation: control.cancellation)
    guard let text = answer["prompt"]?.string else {
      throw BackendError(.processingFailed, "/apply-template told no prompt")
    }
    if let picture { return (["prompt_string": .string(text), "multimodal_data": [.string(picture)]], nil) }
    let ids = try await tokenize(text, cancellation: control.cancellation)
    return (.array(ids.map { .integer($0) }), ids)
  }

  private static func body(_ request: TextRequest, prompt: JSONValue) -> JSONValue {
    let sampling = request.sampling
    // What isn't told is the server's own default, which isn't ours.
    return [
      "prompt": prompt, "n_predict": .integer(request.maxTokens), "stream": true, "return_tokens": true, "cache_prompt": false,
      "temperature": .number(sampling.temperature), "top_k": .integer(sampling.topK), "top_p": .number(sampling.topP),
      "min_p": .number(sampling.minP), "typical_p": 1, "repeat_penalty": .number(sampling.repetitionPenalty), "repeat_last_n": -1,
      "presence_penalty": 0, "frequency_penalty": 0, "seed": .integer(Int(UInt32(truncatingIfNeeded: sampling.seed))),
      "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
    ]
  }
}

/// Reads the events of a streamed completion.
private final class TokenStream: Sendable {
  private struct State {
    var events = EventStream()
    var ids: [Int] = []
    var text = ""
    var firstNs: UInt64?
    var last: JSONValue?
  }

  private let control: GenerationControl
  private let maxTokens: Int
  private let state = Mutex(State())

  init(control: GenerationControl, maxTokens: Int) {
    self.control = control
    self.maxTokens = maxTokens
  }

  func take(_ bytes: [UInt8]) throws(BackendError) {
    let result = state.withLock { state in
      Result { () throws(BackendError) -> [GenerationEvent] in
        var told: [GenerationEvent] = []
        for data in try state.events.take(bytes) where data != Array("[DONE]".utf8) {
          guard let value = HTTPClient.parse(data), value.object != nil else {
            throw BackendError(.processingFailed, "an event of the stream isn't a JSON object")
          }
          if let error = value["error"] {
            throw BackendError(.processingFailed, "llama-server: \(error["message"]?.string ?? error.text(indent: nil))")
          }
          guard state.last == nil else { throw BackendError(.processingFailed, "the stream goes on after its last event") }
          let now = MonotonicTime.nanoseconds()
          if value["stop"]?.bool == true { state.last = value }
          let text = value["content"]?.string ?? ""
          let ids = value["tokens"]?.array?.compactMap(\.int) ?? []
          guard ids.allSatisfy({ $0 >= 0 }) else { throw BackendError(.processingFailed, "a token has a negative id") }
          state.text += text
          state.ids += ids
          guard state.ids.count <= self.maxTokens + 1 else {
            throw BackendError(.processingFailed, "expected at most \(self.maxTokens) tokens, found more")
          }
          if state.firstNs == nil, !ids.isEmpty { state.firstNs = now }
          for (index, id) in ids.enumerated() {
            told.append(.token(id: id, text: index == ids.count - 1 ? text : "", timeNs: now))
          }
        }
        return told
      }
    }
    for event in try result.get() { control.onEvent(event) }
  }

  func result(promptIDs: [Int]?, startNs: UInt64, endNs: UInt64) throws(BackendError) -> TextResult {
    let state = state.withLock { $0 }
    guard let last = state.last else {
      throw BackendError(.processingFailed, "the stream ended without its last event, after \(state.ids.count) tokens")
    }
    guard !state.events.hasRest else { throw BackendError(.processingFailed, "the stream ended within an event") }
    let ending = last["stop_type"]?.string
    guard ["eos", "word", "limit"].contains(ending) else {
      throw BackendError(.processingFailed, "stop_type: expected eos, word or limit, found '\(ending ?? "none")'")
    }
    var unavailable: [String: String] = [:]
    var ids = state.ids
    if let predicted = last["tokens_predicted"]?.int, predicted != ids.count {
      // Tokens that end within a character aren't sent one by one.
      unavailable["ids"] = "\(ids.count) of \(predicted) ids were streamed: tokens within a character aren't sent"
      ids = []
    } else if ending == "eos", !ids.isEmpty {
      ids.removeLast()
    }
    if promptIDs == nil { unavailable["prompt_ids"] = "llama-server doesn't tell the ids of an image" }
    let timings = last["timings"]
    func rate(_ count: Int?, _ ms: Double?) -> Double? {
      guard let count, let ms, count > 0, ms > 0 else { return nil }
      return Double(count) / ms * 1000
    }
    let prefill = rate(timings?["prompt_n"]?.int, timings?["prompt_ms"]?.double)
    // The server's clock starts with the first token, which it counts too.
    let decode = rate(timings?["predicted_n"]?.int.map { $0 - 1 }, timings?["predicted_ms"]?.double)
    if prefill == nil { unavailable["prefill_tokens_per_second"] = "the server told no timings" }
    if decode == nil { unavailable["decode_tokens_per_second"] = "the server told no timings, or made one token" }
    var result = TextResult(
      text: state.text, ids: ids, promptIDs: promptIDs ?? [], finishReason: ending == "limit" ? .length : .stop,
      timeToFirstTokenNs: (state.firstNs ?? endNs) - startNs, totalNs: endNs - startNs, prefillTokensPerSecond: prefill,
      decodeTokensPerSecond: decode)
    result.unavailable = unavailable
    return result
  }
}
