import Checkpoints
import Foundation
public import GenBackend
import Synchronization
import Tensors

/// Servers with OpenAI's interface: `/v1/models`, `/v1/chat/completions` (streamed), `/v1/images/generations`.
///
/// The interface has no seed, no steps and no scheduler for images, and no token ids for text: requests that set what it can't be
/// told are refused.
public final class OpenAIBackend: GenBackend {
  private let engine: HTTPEngine
  private let names = Mutex<[ModelID: String]>([:])

  /// Makes a backend; nothing is asked yet.
  public init(_ endpoint: HTTPEndpoint, limits: HTTPLimits = HTTPLimits(), token: String? = nil) {
    engine = HTTPEngine(endpoint, limits: limits, token: token)
  }

  /// The server can't be looked into.
  public var workPlace: WorkPlace { .elsewhere(reason: "a server's memory can't be read from here") }

  private func models(_ cancellation: CancellationToken) async throws(BackendError) -> [String] {
    let answer = try await engine.client.json(.init(path: "/v1/models"), cancellation: cancellation)
    guard let list = answer["data"]?.array else {
      throw BackendError(.processingFailed, "\(engine.client.endpoint.text): /v1/models told no list")
    }
    return list.compactMap { $0["id"]?.string }
  }

  /// What the server says of itself.
  public var info: BackendInfo {
    get async throws {
      let models = try await models(CancellationToken())
      return BackendInfo(
        name: "openai", version: "not told",
        capabilities: [.textToImage, .batch, .textGeneration, .imageUnderstanding],
        details: ["models": models.sorted().joined(separator: ","), "server": engine.client.endpoint.text])
    }
  }

  /// Takes one of the server's models; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await engine.exclusively(model: nil, control) {
      let start = MonotonicTime.nanoseconds()
      let served = try await models(control.cancellation)
      try engine.require(request, served: served)
      if request.precision != .f32 { throw BackendError(.notSupported, "precision: it's the server's") }
      let stem = URL(fileURLWithPath: request.path).deletingPathExtension().lastPathComponent
      let name = engine.client.endpoint.model ?? served.first { $0.contains(stem) } ?? served.first ?? ""
      let isImage = request.variant.map { !$0.isText } ?? false
      let info = engine.keep { id in
        ModelInfo(
          id: id, variant: request.variant?.rawValue ?? "unknown",
          capabilities: isImage ? [.textToImage, .batch] : [.textGeneration, .imageUnderstanding],
          nativeSizes: isImage ? [ImageSize(width: 512, height: 512)] : [], sizeMultiple: isImage ? 8 : 1,
          loadNs: MonotonicTime.nanoseconds() - start)
      }
      names.withLock { $0[info.id] = name }
      return info
    }
  }

  /// Forgets a model; the server keeps it.
  public func unload(_ model: ModelID) async {
    engine.forget(model)
    names.withLock { $0[model] = nil }
  }

  private func name(_ model: ModelID) -> JSONValue { .string(names.withLock { $0[model] } ?? "") }

  /// Makes images; see ``GenBackend``.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try await engine.exclusively(model: request.model, control) {
      try HTTPEngine.refuse(request, but: ["size", "image_count"], "a server with OpenAI's interface")
      var body: [String: JSONValue] = [
        "model": name(request.model), "prompt": .string(request.prompt), "n": .integer(request.imageCount),
        "response_format": "b64_json",
      ]
      if let size = request.size { body["size"] = .string(size.description) }
      let answer = try await engine.client.json(
        .init(method: "POST", path: "/v1/images/generations", body: .object(body)), cancellation: control.cancellation)
      let texts = answer["data"]?.array?.compactMap { $0["b64_json"]?.string } ?? []
      guard texts.count == request.imageCount else {
        throw BackendError(.processingFailed, "expected \(request.imageCount) images as b64_json, found \(texts.count)")
      }
      var images: [ImageResult.Image] = []
      for text in texts {
        images.append(.init(bitmap: try HTTPEngine.bitmap(base64: text, size: request.size), safety: .unchecked, seed: 0))
      }
      var result = ImageResult(images: images, scheduler: "unknown", steps: 0, guidanceScale: 0)
      for key in ["seed", "steps", "scheduler", "guidance_scale", "stages", "progress", "trace", "dropped_tokens"] {
        result.unavailable[key] = "OpenAI's interface doesn't tell"
      }
      return result
    }
  }

  /// Makes text; see ``GenBackend``.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    try await engine.exclusively(model: request.model, control) {
      let startNs = MonotonicTime.nanoseconds()
      let body = try body(request)
      let stream = ChatStream(control: control)
      _ = try await engine.client.send(
        .init(method: "POST", path: "/v1/chat/completions", body: body, accept: "text/event-stream"),
        cancellation: control.cancellation
      ) { (bytes) throws(BackendError) in try stream.take(bytes) }
      return try stream.result(startNs: startNs, endNs: MonotonicTime.nanoseconds())
    }
  }

  private func body(_ request: TextRequest) throws(BackendError) -> JSONValue {
    let (sampling, standard) = (request.sampling, TextRequest.Sampling())
    if request.isRaw { throw BackendError(.notSupported, "raw: the interface has chats only") }
    guard request.maxTokens >= 1 else {
      throw BackendError(.invalidInput, "max tokens: expected at least 1, found \(request.maxTokens)")
    }
    for (name, isSet) in [
      ("top_k", sampling.topK != standard.topK), ("min_p", sampling.minP != standard.minP),
      ("repetition_penalty", sampling.repetitionPenalty != standard.repetitionPenalty),
    ] where isSet {
      throw BackendError(.notSupported, "\(name): OpenAI's interface can't be told that; leave it out")
    }
    var messages: [JSONValue] = request.turns.map { ["role": .string($0.role.rawValue), "content": .string($0.text)] }
    if let image = request.image {
      messages.append([
        "role": "user",
        "content": [
          ["type": "image_url", "image_url": ["url": .string("data:image/png;base64," + (try HTTPEngine.base64(image)))]],
          ["type": "text", "text": .string(request.prompt)],
        ],
      ])
    } else {
      messages.append(["role": "user", "content": .string(request.prompt)])
    }
    return [
      "model": name(request.model), "messages": .array(messages), "max_tokens": .integer(request.maxTokens), "stream": true,
      "temperature": .number(sampling.temperature), "top_p": .number(sampling.topP),
      "seed": try HTTPEngine.seed(sampling.seed, largest: UInt64(Int64.max)),
    ]
  }
}

/// Reads the events of a streamed chat.
private final class ChatStream: Sendable {
  private struct State {
    var events = EventStream()
    var text = ""
    var parts = 0
    var firstNs: UInt64?
    var reason: String?
    var isDone = false
  }

  private let control: GenerationControl
  private let state = Mutex(State())

  init(control: GenerationControl) { self.control = control }

  func take(_ bytes: [UInt8]) throws(BackendError) {
    try state.withLock { state in
      Result { () throws(BackendError) in
        for data in try state.events.take(bytes) {
          if data == Array("[DONE]".utf8) {
            state.isDone = true
            continue
          }
          guard let value = HTTPClient.parse(data), value.object != nil else {
            throw BackendError(.processingFailed, "an event of the stream isn't a JSON object")
          }
          if let error = value["error"] {
            throw BackendError(.processingFailed, "the server: \(error["message"]?.string ?? error.text(indent: nil))")
          }
          guard let choice = value["choices"]?.array?.first else { continue }
          if let text = choice["delta"]?["content"]?.string, !text.isEmpty {
            if state.firstNs == nil { state.firstNs = MonotonicTime.nanoseconds() }
            state.text += text
            state.parts += 1
          }
          if let reason = choice["finish_reason"]?.string { state.reason = reason }
        }
      }
    }.get()
  }

  func result(startNs: UInt64, endNs: UInt64) throws(BackendError) -> TextResult {
    let state = state.withLock { $0 }
    guard let reason = state.reason, state.isDone else {
      throw BackendError(.processingFailed, "the stream ended early, after \(state.text.count) characters")
    }
    guard ["stop", "length"].contains(reason) else {
      throw BackendError(.processingFailed, "finish_reason: expected stop or length, found '\(reason)'")
    }
    var result = TextResult(
      text: state.text, ids: [], promptIDs: [], finishReason: reason == "length" ? .length : .stop,
      timeToFirstTokenNs: (state.firstNs ?? endNs) - startNs, totalNs: endNs - startNs, prefillTokensPerSecond: nil,
      decodeTokensPerSecond: nil)
    for key in ["ids", "prompt_ids", "prefill_tokens_per_second", "decode_tokens_per_second", "token"] {
      result.unavailable[key] = "OpenAI's interface tells text, not tokens"
    }
    return result
  }
}
