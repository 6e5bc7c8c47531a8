public import Conformance
import Dispatch
import Foundation
public import GenBackend
import Imaging
import Synchronization
import Tensors

/// An engine that follows a script on a clock of its own: it computes nothing, fails on demand, and waits at gates.
///
/// Faithful to ``GenBackend``: events in order on its own thread, cancellation between steps, one request at a time. Its
/// images depend on all that images depend on, so that a surface that drops an option is found out.
public final class ScriptedBackend: ScriptedImageEngine {
  private struct State {
    var script = Script()
    var models: [ModelID: (model: ScriptedModel, load: LoadRequest)] = [:]
    var loads: [LoadRequest] = []
    var runs: [ScriptedImageRun] = []
    var running: (number: Int, model: ModelID, token: CancellationToken)?
    var unloadWaiters: [CheckedContinuation<Void, Never>] = []
    var nextModel = 1
    var gate: (afterSteps: Int, gate: Gate)?
    var gates: [Gate] = []
    var liveBytes = 0
    var peakBytes = 0
  }

  /// The clock that its work moves.
  public let clock = VirtualClock()
  private let log: EvidenceLog
  /// Distinguishes engines that stand for other compute units: adds so much to every 7th sample.
  private let unitOffset: UInt8
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "genbench.scripted-engine")

  /// The samplers that it knows.
  public static let schedulers = ["ddim", "pndm", "euler", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "unipc", "heun"]

  /// Makes an engine.
  public init(script: Script = Script(), log: EvidenceLog = EvidenceLog(), unitOffset: UInt8 = 0) {
    self.log = log
    self.unitOffset = unitOffset
    state.withLock { $0.script = script }
  }

  // MARK: - For checks

  /// What it does; may be changed between requests.
  public var script: Script {
    get { state.withLock { $0.script } }
    set { state.withLock { $0.script = newValue } }
  }

  /// Nanoseconds of the clock.
  public var nowNs: UInt64 { clock.nowNs }

  /// All loads that were asked for.
  public var loads: [LoadRequest] { state.withLock { $0.loads } }
  /// All generations.
  public var runs: [ScriptedImageRun] { state.withLock { $0.runs } }
  /// Whether a generation is at work.
  public var isRunning: Bool { state.withLock { $0.running != nil } }
  /// Models in memory.
  public var loadedModels: Int { state.withLock { $0.models.count } }

  /// Makes the next generation wait after so many steps.
  public func pauseNextRun(afterSteps steps: Int) -> Gate {
    let gate = Gate()
    state.withLock { state in
      state.gate = (steps, gate)
      state.gates.append(gate)
    }
    return gate
  }

  /// Opens all gates, so that nothing is left waiting.
  public func openAllGates() { for gate in state.withLock({ $0.gates }) { gate.open() } }

  /// Virtual bytes, by the same rules as a real engine's.
  public var memory: MemoryMeter {
    MemoryMeter(
      reset: { [self] in state.withLock { $0.peakBytes = $0.liveBytes } },
      peakBytes: { [self] in state.withLock { $0.peakBytes } },
      liveBytes: { [self] in state.withLock { $0.liveBytes } })
  }

  // MARK: - GenBackend

  /// What it is.
  public var info: BackendInfo {
    BackendInfo(name: "scripted", version: "1", capabilities: state.withLock { $0.script.capabilities })
  }

  /// Loads a model of its own.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    log.note("engine: load \(request.path), safety \(request.safety.rawValue)\(request.reduceMemory ? ", reduced memory" : "")")
    let script = state.withLock { state in
      state.loads.append(request)
      return state.script
    }
    await emit(.began(.load, index: nil, timeNs: clock.nowNs), control)
    clock.advance(byNs: 500_000_000)
    do {
      if control.cancellation.isCancelled { throw BackendError(.cancelled, "the load was cancelled") }
      if let failure = script.loadFailure { throw failure }
      let model = try ScriptedModel.at(request.path)
      if request.safety == .required, !model.hasChecker {
        throw BackendError(.invalidModel, "\(request.path): a safety checker was asked for, but the model has none")
      }
      await emit(.ended(.load, index: nil, timeNs: clock.nowNs), control)
      return state.withLock { state in
        let id = ModelID("scripted-\(state.nextModel)")
        state.nextModel += 1
        state.models[id] = (model, request)
        state.liveBytes += 1000
        state.peakBytes = max(state.peakBytes, state.liveBytes)
        var capabilities = script.capabilities
        if !model.hasChecker || request.safety == .off { capabilities.remove(.safetyChecker) }
        return ModelInfo(
          id: id, variant: model.variant, capabilities: capabilities, nativeSizes: model.sizes, sizeMultiple: 8,
          predictionType: "epsilon", defaultScheduler: "pndm", defaultSteps: model.defaultSteps,
          defaultGuidanceScale: model.defaultGuidanceScale, parameterCount: 1000, weightBytes: 1000, loadNs: 500_000_000)
      }
    } catch {
      log.note("engine: load failed, \(error)")
      throw error
    }
  }

  /// Frees a model; waits for its generation.
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
    state.withLock { state in
      if state.models.removeValue(forKey: model) != nil { state.liveBytes -= 1000 }
    }
  }

  /// Follows the script.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    let start = try begin(request, control)
    do {
      let result = try await run(start, request, control)
      end(start, error: nil)
      return result
    } catch let error as BackendError {
      end(start, error: error)
      throw error
    }
  }

  /// Makes words, one a tenth of a virtual second.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    let promptIDs = request.prompt.split(separator: " ").indices.map { $0 }
    let ids = Array(0..<min(request.maxTokens, 8))
    let prefillNs = UInt64(promptIDs.count) * 10_000_000
    let firstNs = prefillNs + 5_000_000
    let decodeNs = UInt64(max(0, ids.count - 1)) * 100_000_000
    clock.advance(byNs: firstNs + decodeNs)
    return TextResult(
      text: ids.map { "w\($0)" }.joined(separator: " "), ids: ids, promptIDs: Array(promptIDs),
      finishReason: ids.count == request.maxTokens ? .length : .stop, timeToFirstTokenNs: firstNs, totalNs: firstNs + decodeNs,
      prefillTokensPerSecond: prefillNs > 0 ? Double(promptIDs.count) / (Double(prefillNs) / 1e9) : nil,
      decodeTokensPerSecond: decodeNs > 0 ? Double(ids.count - 1) / (Double(decodeNs) / 1e9) : nil)
  }

  // MARK: - One generation

  private struct Start {
    var number: Int
    var model: ScriptedModel
    var load: LoadRequest
    var script: Script
    var gate: (afterSteps: Int, gate: Gate)?
    var workBytes: Int
  }

  private func begin(_ request: ImageRequest, _ control: GenerationControl) throws(BackendError) -> Start {
    try state.withLock { state throws(BackendError) in
      guard let entry = state.models[request.model] else {
        throw BackendError(.notLoaded, "model '\(request.model)' isn't loaded; load it first")
      }
      guard state.running == nil else { throw BackendError(.busy, "another request is running") }
      let number = state.runs.count
      state.runs.append(ScriptedImageRun(request: request))
      state.running = (number, request.model, control.cancellation)
      let bytes = entry.load.reduceMemory ? 1500 : 4000
      state.liveBytes += bytes
      state.peakBytes = max(state.peakBytes, state.liveBytes)
      defer { state.gate = nil }
      return Start(
        number: number, model: entry.model, load: entry.load, script: state.script, gate: state.gate, workBytes: bytes)
    }
  }

  private func end(_ start: Start, error: BackendError?) {
    log.note("engine: run \(start.number + 1) ends, \(error.map { "\($0)" } ?? "done")")
    let waiters = state.withLock { state in
      state.runs[start.number].isOver = true
      state.runs[start.number].error = error
      state.running = nil
      state.liveBytes -= start.workBytes
      defer { state.unloadWaiters = [] }
      return state.unloadWaiters
    }
    start.gate?.gate.abandon()
    for waiter in waiters { waiter.resume() }
  }

  private func emit(_ event: GenerationEvent, _ control: GenerationControl) async {
    await withCheckedContinuation { continuation in
      queue.async {
        control.onEvent(event)
        continuation.resume()
      }
    }
  }

  private func stage(_ stage: Stage, index: Int? = nil, ns: UInt64, _ control: GenerationControl) async {
    await emit(.began(stage, index: index, timeNs: clock.nowNs), control)
    clock.advance(byNs: ns)
    await emit(.ended(stage, index: index, timeNs: clock.nowNs), control)
  }

  private func run(_ start: Start, _ request: ImageRequest, _ control: GenerationControl) async throws -> ImageResult {
    let script = start.script
    let steps = request.steps ?? start.model.defaultSteps
    let size = request.size ?? start.model.sizes[0]
    let scheduler = request.scheduler ?? "pndm"
    try validate(request, steps: steps, size: size, scheduler: scheduler)
    let seed = request.seed ?? UInt64(UInt32.random(in: 0 ... .max))
    let total = request.image == nil ? steps : min(steps, Int(Double(steps) * request.strength))
    log.note(
      "engine: run \(start.number + 1) of \(size), \(total) steps, guidance \(request.guidanceScale ?? start.model.defaultGuidanceScale), \(scheduler), seed \(request.seed.map(String.init) ?? "random")"
    )

    let words = request.prompt.split(separator: " ").count
    let dropped = request.longPrompt == .chunk ? 0 : max(0, words - script.promptWindow)
    if dropped > 0, request.longPrompt == .error {
      throw BackendError(.invalidInput, "prompt: \(words) tokens, the encoder's window holds \(script.promptWindow)")
    }
    if dropped > 0 { await emit(.warning("prompt: \(dropped) tokens beyond the encoder's window were dropped"), control) }
    await stage(.textEncode, ns: script.textNs, control)

    var images: [ImageResult.Image] = []
    for index in 0..<request.imageCount {
      let isFlagged = script.flaggedImages.contains(index)
      let safety: SafetyOutcome =
        !request.checksSafety || start.load.safety == .off || !start.model.hasChecker || script.isCheckerSilent
        ? .unchecked : isFlagged ? .filtered : .passed
      let imageSeed = seed &+ UInt64(index)
      for step in 1...total {
        if let gate = start.gate, gate.afterSteps == step - 1, index == 0 { await gate.gate.pass() }
        try checkCancellation(control)
        if let failure = script.failure, failure.step == step { throw failure.error }
        await stage(.step, index: step - 1, ns: script.stepNs, control)
        if let stride = request.previewStride, step % stride == 0 || step == total {
          state.withLock { $0.runs[start.number].previews += 1 }
          let bitmap = image(
            request, start: start, steps: steps, size: size, scheduler: scheduler, seed: imageSeed, at: step == total ? nil : step
          )
          await stage(.preview, index: step, ns: script.previewNs, control)
          await emit(.preview(step: step, image: bitmap, safety: safety), control)
        }
        state.withLock { $0.runs[start.number].stepsDone += 1 }
        await emit(.progress(step: step, total: total, timeNs: clock.nowNs), control)
      }
      if let gate = start.gate, gate.afterSteps >= total, index == 0 { await gate.gate.pass() }
      try checkCancellation(control)
      await stage(.vaeDecode, ns: script.decodeNs, control)
      if safety != .unchecked { await stage(.safetyCheck, ns: script.safetyNs, control) }
      // The pixels of a filtered image are left in, so that a surface that hands them on is found out.
      images.append(
        .init(
          bitmap: image(request, start: start, steps: steps, size: size, scheduler: scheduler, seed: imageSeed, at: nil),
          safety: safety, seed: imageSeed))
    }
    return ImageResult(
      images: images, scheduler: scheduler, steps: total,
      guidanceScale: request.guidanceScale ?? start.model.defaultGuidanceScale, droppedTokens: dropped,
      trace: request.traceLevel == .none ? [:] : trace(request, steps: steps, size: size, seed: seed))
  }

  private func checkCancellation(_ control: GenerationControl) throws(BackendError) {
    if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
  }

  private func validate(_ request: ImageRequest, steps: Int, size: ImageSize, scheduler: String) throws(BackendError) {
    guard steps >= 1 else { throw BackendError(.invalidInput, "steps: expected at least 1, found \(steps)") }
    guard size.width > 0, size.height > 0, size.width % 8 == 0, size.height % 8 == 0 else {
      throw BackendError(.invalidInput, "size: expected multiples of 8, found \(size)")
    }
    guard Self.schedulers.contains(scheduler) else {
      throw BackendError(
        .invalidInput, "scheduler: expected one of \(Self.schedulers.joined(separator: ", ")), found '\(scheduler)'")
    }
    guard request.image == nil || Int(Double(steps) * request.strength) >= 1 else {
      throw BackendError(.invalidInput, "strength: \(request.strength) of \(steps) steps leaves no step")
    }
  }

  /// The picture of a request: all that changes a real image changes it.
  private func image(
    _ request: ImageRequest, start: Start, steps: Int, size: ImageSize, scheduler: String, seed: UInt64, at step: Int?
  ) -> Bitmap {
    let guidance = request.guidanceScale ?? start.model.defaultGuidanceScale
    let words = request.prompt.split(separator: " ").prefix(request.longPrompt == .chunk ? .max : start.script.promptWindow)
    var parts = [start.model.variant, words.joined(separator: " "), "\(steps)", "\(guidance)", scheduler, "\(seed)"]
    if guidance > 1 { parts.append(request.negativePrompt ?? "") }
    if let step { parts.append("preview \(step)") }
    let pattern =
      start.script.paintsPrompt
      ? ShapePainter(
        prompt: request.prompt, negativePrompt: request.negativePrompt ?? "", guidance: guidance, steps: steps, seed: seed
      ).bitmap(width: size.width, height: size.height)
      : ScriptedImage.pattern(seed: ScriptedImage.hash(parts), width: size.width, height: size.height)
    var bitmap =
      request.image.map { ScriptedImage.repaint($0, mask: request.mask, strength: request.strength, pattern: pattern) } ?? pattern
    if unitOffset > 0 {
      for index in stride(from: 0, to: bitmap.samples.count, by: 7) { bitmap.samples[index] ^= unitOffset }
    }
    return bitmap
  }

  private func trace(_ request: ImageRequest, steps: Int, size: ImageSize, seed: UInt64) -> [String: Tensor] {
    var noise = (RandomSource(rawValue: request.randomSource) ?? .torch).makeNoiseSource(seed: seed)
    let latents = request.latents ?? noise.normals(shape: [1, 4, size.height / 8, size.width / 8])
    let timesteps = (0..<steps).map { Float(999 - $0 * 1000 / steps) }
    return ["latents.init": latents, "timesteps": Tensor(timesteps, shape: [steps])]
  }
}
