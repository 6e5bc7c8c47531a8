import BackendProtocol
import Checkpoints
import Foundation
public import GenBackend
import Synchronization
public import Tensors

/// An engine in a child process that speaks `genbench.backend/1` on its stdin and stdout.
///
/// The child is started when it's first needed. One that breaks the protocol, dies or falls silent is ended with its whole
/// process group; the request fails, and the next one starts a new child and loads again what was loaded.
public final class ProcessBackend: OperatorBackend {
  /// How the child is started and watched.
  public struct Options: Sendable {
    /// The program and its arguments.
    public var words: [String]
    /// The environment of the child; nil is this process's.
    public var environment: [String: String]?
    /// Threads that loads ask for; nil leaves it to the engine.
    public var threads: Int?
    /// How long it may take.
    public var limits: BackendLimits
    /// What the program calls itself.
    public var client: (name: String, version: String)
    /// Where the child is noted, so that it can be ended with the program.
    public var processes: EngineProcesses?

    /// Makes options out of a program and its arguments.
    public init(
      words: [String], environment: [String: String]? = nil, threads: Int? = nil, limits: BackendLimits = BackendLimits(),
      client: (name: String, version: String) = ("genbench", "0"), processes: EngineProcesses? = nil
    ) {
      self.words = words
      self.environment = environment
      self.threads = threads
      self.limits = limits
      self.client = client
      self.processes = processes
    }
  }

  private struct Model {
    var request: LoadRequest
    var info: ModelInfo
    /// The child's name of it, and which child that is.
    var childID: String
    var child: Int
  }

  private struct State {
    var models: [ModelID: Model] = [:]
    var nextModel = 1
    var running: (model: ModelID?, token: CancellationToken)?
  }

  private let options: Options
  private let engine: EngineStarter
  private let state = Mutex(State())

  /// Makes a backend; nothing is started yet.
  public init(_ options: Options) {
    self.options = options
    engine = EngineStarter(options)
  }

  deinit { engine.abandon() }

  /// What the engine says of itself; starts it.
  public var info: BackendInfo {
    get async throws { try await engine.live().welcome.info }
  }

  /// The operators and blocks that it computes; starts it.
  public var operators: [String] {
    get async throws { try await engine.live().welcome.ops ?? [] }
  }

  /// The group of the child.
  public var workPlace: WorkPlace {
    engine.processID.map { .processGroup($0) } ?? .elsewhere(reason: "the engine isn't running")
  }

  /// The last 64 KiB of what the engine wrote to its stderr.
  public var log: String { engine.log }

  /// Says goodbye to the child and waits until it's gone.
  public func close() async { await engine.close() }

  // MARK: - Requests

  /// Loads a model; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await exclusively(model: nil, control) { live in
      let loaded = try await load(request, live, control)
      let (id, isNew) = state.withLock { state in
        let id = ModelID("model-\(state.nextModel)")
        state.nextModel += 1
        return (id, loaded.reply)
      }
      let info = try await checked(live) { () throws(BackendError) in try isNew.info(id: id, loadNs: loaded.elapsedNs) }
      state.withLock {
        $0.models[id] = Model(request: request, info: info, childID: loaded.reply.model.id, child: live.number)
      }
      return info
    }
  }

  /// Frees a model; see ``GenBackend``.
  public func unload(_ model: ModelID) async {
    let entry = state.withLock { state -> Model? in
      guard let entry = state.models.removeValue(forKey: model) else { return nil }
      // An engine may give one name to a model that is loaded twice.
      let isShared = state.models.values.contains { $0.child == entry.child && $0.childID == entry.childID }
      return isShared ? nil : entry
    }
    guard let entry, let live = await engine.current, live.number == entry.child else { return }
    if let running = state.withLock({ $0.running }), running.model == model { running.token.cancel() }
    _ = try? await live.connection.request(.unload(UnloadMessage(model: entry.childID)))
  }

  /// Makes images; see ``GenBackend``.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try await exclusively(model: request.model, control) { live in
      let model = try await childModel(request.model, live, control)
      let request = withNoise(request)
      let message = try ImageMessage(request, model: model, folder: live.connection.folder)
      let reply = try await live.connection.request(.generateImages(message), control: control, watch: live.watch)
      guard case .images(let images) = reply.body else { throw Self.unexpected(reply) }
      return try await checked(live) { () throws(BackendError) in
        try images.result(of: request, ExchangeReader(live.connection.folder, code: .processingFailed))
      }
    }
  }

  /// Makes text; see ``GenBackend``.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    try await exclusively(model: request.model, control) { live in
      let model = try await childModel(request.model, live, control)
      let message = try TextMessage(request, model: model, folder: live.connection.folder)
      let reply = try await live.connection.request(.generateText(message), control: control, watch: live.watch)
      guard case .text(let text) = reply.body else { throw Self.unexpected(reply) }
      return try await checked(live) { () throws(BackendError) in
        try text.result(
          maxTokens: request.maxTokens, firstTokenNs: reply.firstTokenNs.map { $0 - min(reply.sentNs, $0) },
          elapsedNs: reply.receivedNs - reply.sentNs)
      }
    }
  }

  /// Computes an operator; see ``OperatorBackend``.
  public func compute(_ operation: String, attributes: String, inputs: [String: Tensor]) async throws -> OperatorResult {
    let attributes = try Self.attributes(attributes)
    return try await exclusively(model: nil, GenerationControl()) { live in
      let message = OperationMessage(op: operation, attributes: attributes, inputs: try live.connection.folder.write(inputs))
      let reply = try await live.connection.request(.operation(message), watch: live.watch)
      guard case .operationResult(let result) = reply.body else { throw Self.unexpected(reply) }
      let outputs = try await checked(live) { () throws(BackendError) in
        try ExchangeReader(live.connection.folder, code: .processingFailed).tensors(result.outputs)
      }
      return OperatorResult(outputs: outputs, elapsedNs: result.elapsedNs)
    }
  }

  private static func attributes(_ text: String) throws(BackendError) -> JSONValue {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)), value.object != nil else {
      throw BackendError(.invalidInput, "attributes: expected the text of a JSON object, found '\(text.prefix(100))'")
    }
    return value
  }

  // MARK: - Parts

  /// The request with a seed, and with that seed's noise when the engine takes noise: so all engines start from the same.
  private func withNoise(_ request: ImageRequest) -> ImageRequest {
    var request = request
    let seed = request.seed ?? UInt64(UInt32.random(in: 0 ... .max))
    request.seed = seed
    guard let info = state.withLock({ $0.models[request.model]?.info }), info.capabilities.contains(.latentsInput),
      request.latents == nil, request.image == nil, request.imageCount == 1,
      let size = request.size ?? info.nativeSizes.first
    else { return request }
    let (height, width) = (size.height / info.sizeMultiple, size.width / info.sizeMultiple)
    let isSensible = (1...BackendProtocol.largestSide).contains(height) && (1...BackendProtocol.largestSide).contains(width)
    guard isSensible, size.height % info.sizeMultiple == 0, size.width % info.sizeMultiple == 0 else { return request }
    var noise = request.randomSource.makeNoiseSource(seed: seed)
    request.latents = noise.normals(shape: [1, 4, height, width])
    request.randomSource = ImageRequest(model: request.model, prompt: "").randomSource
    return request
  }

  private static func unexpected(_ reply: ProcessConnection.Reply) -> BackendError {
    BackendError(.processingFailed, "the engine answered with '\(reply.body.type)'")
  }

  /// Reads a reply; one that is wrong ends the child.
  private func checked<Result>(
    _ live: EngineStarter.Live, _ read: () throws(BackendError) -> Result
  ) async throws(BackendError) -> Result {
    do { return try read() } catch {
      throw await live.connection.end(because: "gave a wrong answer: \(error.message)")
    }
  }

  private func load(
    _ request: LoadRequest, _ live: EngineStarter.Live, _ control: GenerationControl
  ) async throws(BackendError) -> (reply: LoadedReply, elapsedNs: UInt64) {
    let message = LoadMessage(request, threads: options.threads)
    let reply = try await live.connection.request(.load(message), control: control, watch: live.watch)
    guard case .loaded(let loaded) = reply.body else { throw Self.unexpected(reply) }
    return (loaded, reply.receivedNs - reply.sentNs)
  }

  /// The child's name of a model, which is loaded again when the child is a new one.
  private func childModel(
    _ id: ModelID, _ live: EngineStarter.Live, _ control: GenerationControl
  ) async throws(BackendError) -> String {
    guard let model = state.withLock({ $0.models[id] }) else {
      throw BackendError(.notLoaded, "model '\(id)' isn't loaded; load it first")
    }
    if model.child == live.number { return model.childID }
    let silent = GenerationControl(cancellation: control.cancellation)
    let childID = try await load(model.request, live, silent).reply.model.id
    state.withLock { state in
      state.models[id]?.childID = childID
      state.models[id]?.child = live.number
    }
    return childID
  }

  /// Runs one request alone, on a child that is well.
  private func exclusively<Result: Sendable>(
    model: ModelID?, _ control: GenerationControl,
    _ body: (EngineStarter.Live) async throws -> Result
  ) async throws -> Result {
    let isFree = state.withLock { state in
      guard state.running == nil else { return false }
      state.running = (model, control.cancellation)
      return true
    }
    guard isFree else { throw BackendError(.busy, "another request is running; wait for it or cancel it") }
    defer { state.withLock { $0.running = nil } }
    return try await withTaskCancellationHandler {
      func checkCancelled() throws(BackendError) {
        if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      }
      try checkCancelled()
      let live = try await engine.live()
      live.connection.hold()
      defer { live.connection.release() }
      let result = try await body(live)
      try checkCancelled()
      return result
    } onCancel: {
      control.cancellation.cancel()
    }
  }
}
