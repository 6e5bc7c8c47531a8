public import Conformance
import Dispatch
public import Foundation
public import GenBackend
import Synchronization
import Tensors

/// A vision-language engine that follows a script on a clock of its own: it tells the colour of an image, and what was asked.
///
/// Faithful to ``GenBackend``: events in order on its own thread, cancellation between tokens, one request at a time. Its
/// answers depend on all that answers depend on.
public final class ScriptedVisionEngine: ScriptedTextEngine {
  private struct State {
    var script = VisionSurface.Script()
    var models: [ModelID: Bool] = [:]
    var loads: [LoadRequest] = []
    var runs: [ScriptedTextRun] = []
    var running: (model: ModelID, token: CancellationToken)?
    var unloadWaiters: [CheckedContinuation<Void, Never>] = []
    var nextModel = 1
    var gate: (beforeToken: Int, gate: Gate)?
    var gates: [Gate] = []
  }

  /// The clock that its work moves.
  public let clock = VirtualClock()
  private let log: EvidenceLog
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "genbench.scripted-vision")

  /// What the files of its model hold.
  public let files = (
    main: Data("GGUF scripted language model".utf8), projector: Data("GGUF scripted projector of a vision model".utf8)
  )
  /// Tokens that an image takes in the prompt.
  public let imageTokens = 64

  /// Makes an engine.
  public init(log: EvidenceLog = EvidenceLog()) { self.log = log }

  // MARK: - For checks

  /// What it does; may be changed between requests.
  public var script: VisionSurface.Script {
    get { state.withLock { $0.script } }
    set { state.withLock { $0.script = newValue } }
  }

  /// Nanoseconds of the clock.
  public var nowNs: UInt64 { clock.nowNs }
  /// All requests.
  public var runs: [ScriptedTextRun] { state.withLock { $0.runs } }
  /// All loads.
  public var loads: [LoadRequest] { state.withLock { $0.loads } }
  /// Whether a request is at work.
  public var isRunning: Bool { state.withLock { $0.running != nil } }

  /// Makes the next request wait before a token, from 0.
  public func pauseNextRun(beforeToken token: Int) -> Gate {
    let gate = Gate()
    state.withLock { state in
      state.gate = (token, gate)
      state.gates.append(gate)
    }
    return gate
  }

  /// Opens all gates, so that nothing is left waiting.
  public func openAllGates() { for gate in state.withLock({ $0.gates }) { gate.open() } }

  // MARK: - GenBackend

  /// What it is.
  public var info: BackendInfo {
    BackendInfo(name: "scripted-vision", version: "1", capabilities: [.textGeneration, .imageUnderstanding])
  }

  /// Loads the made-up files.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    log.note("engine: load \(Self.name(request.path)), projector \(request.projectorPath.map(Self.name) ?? "none")")
    state.withLock { $0.loads.append(request) }
    clock.advance(byNs: 500_000_000)
    guard let main = FileManager.default.contents(atPath: request.path) else {
      throw BackendError(.modelNotFound, "\(request.path): no such file")
    }
    guard main == files.main else { throw BackendError(.invalidModel, "\(request.path): expected a language model") }
    var capabilities: Set<Capability> = [.textGeneration]
    if let path = request.projectorPath {
      guard FileManager.default.contents(atPath: path) == files.projector else {
        throw BackendError(.invalidModel, "\(path): expected a projector")
      }
      capabilities.insert(.imageUnderstanding)
    }
    return state.withLock { state in
      let id = ModelID("vision-\(state.nextModel)")
      state.nextModel += 1
      state.models[id] = request.projectorPath != nil
      return ModelInfo(id: id, variant: "smolvlm", capabilities: capabilities, contextLength: 100_000)
    }
  }

  private static func name(_ path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }

  /// Frees a model; waits for its request.
  public func unload(_ model: ModelID) async {
    await withCheckedContinuation { continuation in
      let mustWait = state.withLock { state in
        guard let running = state.running, running.model == model else { return false }
        running.token.cancel()
        state.unloadWaiters.append(continuation)
        return true
      }
      if !mustWait { continuation.resume() }
    }
    log.note("engine: unload \(model)")
    state.withLock { $0.models[model] = nil }
  }

  /// Makes no images.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    throw BackendError(.notSupported, "this engine makes text")
  }

  /// Follows the script.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    let (number, script, gate, sees) = try state.withLock { state throws(BackendError) in
      guard let sees = state.models[request.model] else {
        throw BackendError(.notLoaded, "model '\(request.model)' isn't loaded")
      }
      guard state.running == nil else { throw BackendError(.busy, "another request is running") }
      state.runs.append(ScriptedTextRun(request: request))
      state.running = (request.model, control.cancellation)
      defer { state.gate = nil }
      return (state.runs.count - 1, state.script, state.gate, sees)
    }
    log.note("engine: answer \(number + 1) to '\(request.prompt.prefix(30))', at most \(request.maxTokens) tokens")
    do {
      let result = try await run(number, request, script, gate, sees: sees, control)
      end(number, nil, gate?.gate)
      return result
    } catch let error as BackendError {
      end(number, error, gate?.gate)
      throw error
    }
  }

  private func end(_ number: Int, _ error: BackendError?, _ gate: Gate?) {
    log.note("engine: answer \(number + 1) ends, \(error.map { "\($0)" } ?? "done")")
    let waiters = state.withLock { state in
      state.runs[number].isOver = true
      state.runs[number].error = error
      state.running = nil
      defer { state.unloadWaiters = [] }
      return state.unloadWaiters
    }
    gate?.abandon()
    for waiter in waiters { waiter.resume() }
  }

  private func run(
    _ number: Int, _ request: TextRequest, _ script: VisionSurface.Script, _ gate: (beforeToken: Int, gate: Gate)?, sees: Bool,
    _ control: GenerationControl
  ) async throws -> TextResult {
    guard request.maxTokens >= 1 else { throw BackendError(.invalidInput, "max tokens: \(request.maxTokens)") }
    guard request.image == nil || sees else { throw BackendError(.invalidInput, "an image, but no projector") }
    let startNs = clock.nowNs
    let promptTokens = request.prompt.split(separator: " ").count + (request.image == nil ? 0 : imageTokens)
    if let image = request.image { clock.advance(byNs: UInt64(image.width * image.height) * script.encodeNsPerPixel) }
    let prefillNs = UInt64(promptTokens) * script.prefillNsPerToken
    clock.advance(byNs: prefillNs)
    let pieces = Self.pieces(request, script)
    let count = min(pieces.count, request.maxTokens)
    var firstNs: UInt64?
    var lastNs = clock.nowNs
    for index in 0..<count {
      if let gate, gate.beforeToken == index { await gate.gate.pass() }
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the answer was cancelled") }
      if let failure = script.failure, failure.token == index { throw failure.error }
      clock.advance(byNs: script.tokenNs)
      lastNs = clock.nowNs
      firstNs = firstNs ?? lastNs
      state.withLock { $0.runs[number].tokens += 1 }
      await emit(.token(id: index, text: pieces[index], timeNs: lastNs), control)
    }
    let seconds = Double(lastNs - (firstNs ?? lastNs)) / 1e9
    return TextResult(
      text: pieces.prefix(count).joined(), ids: Array(0..<count), promptIDs: Array(0..<promptTokens),
      finishReason: count < pieces.count || count == request.maxTokens ? .length : .stop,
      timeToFirstTokenNs: (firstNs ?? lastNs) - startNs, totalNs: lastNs - startNs,
      prefillTokensPerSecond: prefillNs > 0 ? Double(promptTokens) / (Double(prefillNs) / 1e9) : nil,
      decodeTokensPerSecond: count > 1 ? Double(count - 1) / seconds : nil)
  }

  private func emit(_ event: GenerationEvent, _ control: GenerationControl) async {
    await withCheckedContinuation { continuation in
      queue.async {
        control.onEvent(event)
        continuation.resume()
      }
    }
  }

  // MARK: - What it says

  /// The text of each token of the answer to a request: that of a character's first half is empty.
  public func pieces(of request: TextRequest) -> [String] { Self.pieces(request, script) }

  private static func pieces(_ request: TextRequest, _ script: VisionSurface.Script) -> [String] {
    if let repetitions = script.repetitions { return Array(repeating: " boat", count: repetitions) }
    var pieces = ["It", " is"]
    if let image = request.image {
      pieces += [" \(colour(image))", ",", " \(image.width)", "x", "\(image.height)", " #\(mark(image.samples))"]
    } else {
      pieces += [" dark"]
    }
    pieces += [";", " you", " asked", " @\(mark(Array(request.prompt.utf8)))", "", " 🦊", "", "", "漢", "字"]
    if request.sampling.temperature > 0 { pieces.append(" seed\(request.sampling.seed)") }
    while pieces.count < script.naturalLength { pieces.append(" w\(pieces.count)") }
    return pieces
  }

  /// The colour that an image has most of.
  static func colour(_ image: Bitmap) -> String {
    var sums = [0, 0, 0]
    for (index, sample) in image.samples.enumerated() { sums[index % 3] += Int(sample) }
    let most = sums.max() ?? 0
    let pixels = max(1, image.width * image.height)
    if sums.allSatisfy({ abs($0 - most) < pixels * 16 }) {
      return most > pixels * 224 ? "white" : most < pixels * 32 ? "black" : "grey"
    }
    return ["red", "green", "blue"][sums.firstIndex(of: most) ?? 0]
  }

  /// A number that tells contents apart (FNV-1a).
  private static func mark(_ bytes: [UInt8]) -> String {
    var hash: UInt32 = 2_166_136_261
    for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return String(hash, radix: 36)
  }
}
