import Conformance
import Foundation
import GenBackend
import Synchronization

extension Mutant {
  /// A mutant of the vision API: `change` is given the implementation and the scripted engine below it.
  private static func vision(
    _ id: String, _ fault: String, breaks: [String],
    _ change: @escaping @Sendable (inout VisionImplementation, any ScriptedTextEngine) -> Void
  ) -> Mutant {
    Mutant(id, fault, breaks: breaks) { (implementation: inout VisionImplementation, context: FaultContext<VisionSurface>) in
      change(&implementation, context.testDouble)
    }
  }

  private static func recoding(_ code: ErrorCode, as other: ErrorCode)
    -> @Sendable (inout VisionImplementation, any ScriptedTextEngine) -> Void
  {
    { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        if failure.code == code { failure.code = other }
        return failure
      }
    }
  }

  /// Mutants of the vision API.
  static let visionMutants: [Mutant] = visionLoads + visionInputs + visionAnswers + visionCancels

  // MARK: - Models

  private static let visionLoads: [Mutant] = [
    vision(
      "vlm-not-loaded-is-unknown", "An answer without a model fails with a code of its own (C19: unknown).",
      breaks: ["V-01", "V-31"], recoding(.notInitialized, as: .other("unknown"))),
    vision(
      "vlm-unregistered-is-load-failed", "A model that isn't there is a failed load (C19).", breaks: ["V-02"],
      recoding(.modelNotFound, as: .modelLoadFailed)),
    vision("vlm-loads-by-id", "An id alone is taken for a model (C19's loadVLMModelById).", breaks: ["V-03"]) { mutant, _ in
      mutant.loadNeedsDescriptor = false
    },
    vision("vlm-any-framework", "Framework and modality are written down and never looked at (C19).", breaks: ["V-04"]) {
      mutant, _ in
      let (register, load) = (mutant.register, mutant.load)
      @Sendable func repaired(_ model: VisionSurface.Model) -> VisionSurface.Model {
        var model = model
        (model.framework, model.modality) = ("llamaCpp", "multimodal")
        return model
      }
      mutant.register = { try await register(repaired($0)) }
      mutant.load = { try await load(repaired($0)) }
    },
    vision(
      "vlm-text-only-without-projector", "Without a usable projector the model loads, and images are dropped (C19).",
      breaks: ["V-05", "V-07"]
    ) {
      mutant, engine in
      let inner = mutant
      let eyeless = Box(false)
      mutant.register = { model in
        var model = model
        if model.files.count == 1 { model.files.append(VisionSurface.File(url: model.files[0].url, name: "mmproj.gguf")) }
        try await inner.register(model)
      }
      mutant.load = { model in
        do { try await inner.load(model) } catch {
          guard inner.failure(error).code == .modelLoadFailed else { throw error }
          eyeless.value = true
        }
      }
      mutant.isLoaded = {
        let isLoaded = await inner.isLoaded()
        return isLoaded || eyeless.value
      }
      mutant.unload = {
        eyeless.value = false
        try await inner.unload()
      }
    },
    vision(
      "vlm-projector-by-name-only", "The larger number of the two files is taken for the model, whatever it is.", breaks: ["V-06"]
    ) { mutant, _ in
      let inner = mutant
      let swapped = Box(false)
      mutant.load = { model in
        do { try await inner.load(model) } catch {
          guard model.files.first?.name == "mmproj.gguf" else { throw error }
          swapped.value = true
        }
      }
      mutant.isLoaded = {
        let isLoaded = await inner.isLoaded()
        return isLoaded || swapped.value
      }
      mutant.process = { image, prompt, limit, options in
        guard swapped.value else { return try await inner.process(image, prompt, limit, options) }
        return VisionSurface.Answer(
          stream: AsyncThrowingStream<String, any Error> {
            $0.yield("gibberish")
            $0.finish()
          })
      }
    },
    vision("vlm-loaded-after-failure", "The loaded flag is set before the load, and stays.", breaks: ["V-05", "V-07"]) {
      mutant, _ in
      let inner = mutant
      let isSet = Box(false)
      mutant.load = { model in
        isSet.value = true
        try await inner.load(model)
      }
      mutant.isLoaded = { isSet.value }
      mutant.unload = {
        isSet.value = false
        try await inner.unload()
      }
    },
    vision("vlm-unload-throws-when-idle", "Unloading without a model throws.", breaks: ["V-07"]) { mutant, _ in
      let inner = mutant
      mutant.unload = {
        guard await inner.isLoaded() else { throw SDKFailure(.other("invalidState"), message: "no model") }
        try await inner.unload()
      }
    },
  ]

  // MARK: - Input

  /// A buffer of just the right length, whatever it was.
  private static func fitted(_ data: Data, _ count: Int) -> Data { data.prefix(count) + Data(count: max(0, count - data.count)) }

  private static let visionInputs: [Mutant] = [
    vision(
      "vlm-rgb-unchecked", "The number of bytes isn't looked at (C19 and C25 read beyond the buffer).", breaks: ["V-08", "V-09"]
    ) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .rgb(let data, let width, let height) = image, (1...4096).contains(width), (1...4096).contains(height) else {
          return image
        }
        return .rgb(fitted(data, width * height * 3), width: width, height: height)
      }
    },
    vision(
      "vlm-bad-image-ignored", "An image that can't be decoded is dropped, the text alone is answered (C19's base64).",
      breaks: ["V-09", "V-15"]
    ) {
      mutant, _ in
      mutant = mutant.mappingImage { image in
        if case .encoded(let data) = image, !data.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]) {
          return .rgb(Data(count: 3), width: 1, height: 1)
        }
        return image
      }
    },
    vision(
      "vlm-invalid-image-is-processing-failed", "A bad image has the code of any failure.", breaks: ["V-08", "V-09", "V-12"],
      recoding(.other("invalidImage"), as: .processingFailed)),
    vision("vlm-bgr", "Red and blue change places.", breaks: ["V-10", "V-12", "V-13"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .rgb(let data, let width, let height) = image, data.count == width &* height &* 3 else { return image }
        var bytes = [UInt8](data)
        for start in stride(from: 0, to: bytes.count - 2, by: 3) { bytes.swapAt(start, start + 2) }
        return .rgb(Data(bytes), width: width, height: height)
      }
    },
    vision("vlm-transparent-is-black", "Transparent parts are black (C19).", breaks: ["V-11"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .encoded(let data) = image, data.count > 26, data[data.startIndex + 25] == 6 else { return image }
        return .rgb(Data(count: 16 * 16 * 3), width: 16, height: 16)
      }
    },
    vision("vlm-rgba-as-rgb", "Four bytes a pixel are read as three (31c85c896).", breaks: ["V-12"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .rgba(let data, let width, let height) = image else { return image }
        return .rgb(fitted(data, width * height * 3), width: width, height: height)
      }
    },
    vision("vlm-files-shrunk", "Files are made smaller before they're looked at, pixels aren't.", breaks: ["V-13"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .file(let url) = image, FileManager.default.fileExists(atPath: url.path) else { return image }
        return .rgb(VisionRig.pixels(5, width: 12, height: 8), width: 12, height: 8)
      }
    },
    vision("vlm-image-dropped", "Every answer is about the same grey image.", breaks: ["V-10", "V-11", "V-14"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .rgb(let data, let width, let height) = image, width > 0, height > 0, data.count == width &* height &* 3 else {
          if case .encoded(let data) = image, data.count > 60 { return .rgb(Data(repeating: 127, count: 3), width: 1, height: 1) }
          return image
        }
        return .rgb(Data(repeating: 127, count: 3), width: 1, height: 1)
      }
    },
    vision("vlm-thumbnail", "The engine gets a thumbnail.", breaks: ["V-15"]) { mutant, _ in
      mutant = mutant.mappingImage { image in
        guard case .rgb(let data, 10, 10) = image, data.count == 300 else { return image }
        return .rgb(data.prefix(75), width: 5, height: 5)
      }
    },
    vision("vlm-empty-prompt", "An empty prompt is answered (C19).", breaks: ["V-16"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { image, prompt, limit, options in
        try await inner(image, prompt.contains { !$0.isWhitespace } ? prompt : "describe", limit, options)
      }
    },
    vision("vlm-sampling-clamped", "Options out of range become the nearest legal ones.", breaks: ["V-35"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { image, prompt, limit, options in
        var options = options
        options.temperature = options.temperature.map { $0.isNaN ? 0 : min(max($0, 0), 2) }
        options.topP = options.topP.map { min(max($0, 0), 1) }
        options.topK = options.topK.map { max($0, 0) }
        return try await inner(image, prompt, limit, options)
      }
    },
    vision("vlm-never-greedy", "Temperature 0 is taken for unset, and the default is 0.7 (C19).", breaks: ["V-35"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { image, prompt, limit, options in
        var options = options
        if options.temperature == 0 { options.temperature = 0.7 }
        return try await inner(image, prompt, limit, options)
      }
    },
  ]

  // MARK: - Answers

  private static let visionAnswers: [Mutant] = [
    vision("vlm-limit-zero-is-2048", "maxTokens of 0 and less means 2048 (C19).", breaks: ["V-17"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { try await inner($0, $1, $2 <= 0 ? 2048 : $2, $3) }
    },
    vision("vlm-one-token-more", "One token more than was asked for.", breaks: ["V-17", "V-18"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { try await inner($0, $1, $2 > 0 ? $2 + 1 : $2, $3) }
    },
    vision("vlm-last-token-lost", "The last token is lost: the stream is finished beside it (C19).", breaks: ["V-18", "V-19"]) {
      mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        VisionSurface.Answer(stream: Held(base: answer.stream, lost: 1, isSwapped: false), metrics: answer.metrics)
      }
    },
    vision("vlm-tokens-reordered", "Tokens overtake each other: each has a task of its own (C19).", breaks: ["V-18", "V-19"]) {
      mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        VisionSurface.Answer(stream: Held(base: answer.stream, lost: 0, isSwapped: true), metrics: answer.metrics)
      }
    },
    vision("vlm-end-repeats", "After its end the stream begins to speak again.", breaks: ["V-19"]) { mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        VisionSurface.Answer(stream: Reviving(base: answer.stream), metrics: answer.metrics)
      }
    },
    vision(
      "vlm-half-characters", "Half characters become U+FFFD (C19's conversion of each piece).", breaks: ["V-18", "V-19", "V-20"]
    ) { mutant, _ in
      mutant = mutant.mappingPieces { piece, _ in
        piece.contains("🦊") ? ["\u{FFFD}", "\u{FFFD}"] : piece.contains("漢") ? ["\u{FFFD}"] : [piece]
      }
    },
    vision("vlm-end-mark-seen", "The mark of the end is part of the answer (C19).", breaks: ["V-18", "V-19", "V-21"]) {
      mutant, _ in
      mutant = mutant.mappingPieces { piece, number in number == 4 ? [piece, "<end_of_utterance>"] : [piece] }
    },
    vision("vlm-no-finish-reason", "The finish reason is never set (C25).", breaks: ["V-22"]) { mutant, _ in
      mutant = mutant.mappingMetrics { $0.finishReason = nil }
    },
    vision("vlm-always-stop", "Every answer says that it ended by itself.", breaks: ["V-22"]) { mutant, _ in
      mutant = mutant.mappingMetrics { $0.finishReason = "stop" }
    },
    vision("vlm-failure-swallowed", "A failure of the decoder is the end of the answer (ecebd21dd).", breaks: ["V-23"]) {
      mutant, _ in
      let inner = mutant.failure
      mutant = mutant.mappingAnswer { answer in
        var map = PieceMap(base: answer.stream, change: { piece, _ in [piece] })
        map.swallowsErrors = { inner($0).code == .processingFailed }
        return VisionSurface.Answer(stream: map, metrics: answer.metrics)
      }
    },
    vision("vlm-history-leaks", "Earlier questions are part of later prompts.", breaks: ["V-24", "V-28", "V-29", "V-32"]) {
      mutant, _ in
      let inner = mutant.process
      let history = Box<[String]>([])
      mutant.process = { image, prompt, limit, options in
        let all = (history.value + [prompt]).joined(separator: "\n")
        history.value.append(prompt)
        return try await inner(image, prompt.contains { !$0.isWhitespace } ? all : prompt, limit, options)
      }
    },
    vision("vlm-tokens-estimated", "Tokens are characters over four (C19).", breaks: ["V-33"]) { mutant, _ in
      mutant = mutant.mappingMetrics { $0.completionTokens = $0.completionTokens.map { max(1, $0 * 5 / 4) } }
    },
    vision("vlm-no-prompt-tokens", "The prompt has no tokens in streams (C25).", breaks: ["V-33"]) { mutant, _ in
      mutant = mutant.mappingMetrics { $0.promptTokens = 0 }
    },
    vision("vlm-rate-over-all", "The rate is over the whole time, the image's included (#634).", breaks: ["V-34"]) { mutant, _ in
      mutant = mutant.mappingMetrics { metrics in
        if let tokens = metrics.completionTokens, let total = metrics.totalMs {
          metrics.tokensPerSecond = Double(tokens) / (total / 1000)
        }
      }
    },
    vision("vlm-large-image-crashes", "A large image ends in a failure of the engine.", breaks: ["V-36"]) { mutant, _ in
      let inner = mutant.process
      mutant.process = { image, prompt, limit, options in
        if case .rgb(_, let width, let height) = image, width > 512, (1...4096).contains(height) {
          throw SDKFailure(.processingFailed, message: "the engine went down")
        }
        return try await inner(image, prompt, limit, options)
      }
    },
    vision("vlm-first-token-without-image", "The time to the first token leaves the image out.", breaks: ["V-36"]) { mutant, _ in
      mutant = mutant.mappingMetrics { $0.firstTokenMs = $0.firstTokenMs.map { _ in 20 } }
    },
    vision("vlm-all-again", "Each piece is the whole text so far.", breaks: ["V-18", "V-19", "V-37"]) { mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        let text = Box("")
        let map = PieceMap(base: answer.stream) { piece, _ in
          text.value += piece
          return [text.value]
        }
        return VisionSurface.Answer(stream: map, metrics: answer.metrics)
      }
    },
    vision("vlm-silent-guard", "Five equal tokens end the answer, and nobody is told (C19).", breaks: ["V-38"]) { mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        let last = Box<(String, Int)>(("", 0))
        let map = PieceMap(base: answer.stream) { piece, _ in
          let count = last.value.0 == piece ? last.value.1 + 1 : 1
          last.value = (piece, count)
          return count > 5 ? [] : [piece]
        }
        return VisionSurface.Answer(stream: map, metrics: answer.metrics)
      }
    },
  ]

  // MARK: - Cancellation

  private static let visionCancels: [Mutant] = [
    vision("vlm-cancel-does-nothing", "Cancelling does nothing.", breaks: ["V-22", "V-24", "V-25", "V-26"]) { mutant, _ in
      mutant.cancel = {}
    },
    vision("vlm-cancel-ends-quietly", "A cancelled stream ends as if it were complete (C19).", breaks: ["V-25", "V-26"]) {
      mutant, _ in
      let inner = mutant.failure
      mutant = mutant.mappingAnswer { answer in
        var map = PieceMap(base: answer.stream, change: { piece, _ in [piece] })
        map.swallowsErrors = { inner($0).code == .cancelled }
        return VisionSurface.Answer(stream: map, metrics: answer.metrics)
      }
    },
    vision(
      "vlm-early-cancel-lost", "A cancel before the first token is forgotten: the flag is cleared late (C19).",
      breaks: ["V-25", "V-26"]
    ) {
      mutant, engine in
      let inner = mutant.cancel
      mutant.cancel = { if engine.runs.last?.tokens ?? 0 > 0 { await inner() } }
    },
    vision("vlm-left-stream-goes-on", "Leaving the stream leaves the engine at work (C19).", breaks: ["V-27"]) { mutant, _ in
      mutant = mutant.mappingAnswer { answer in
        // A task of its own reads everything, whoever listens.
        let (stream, continuation) = AsyncThrowingStream<String, any Error>.makeStream()
        Task { await pump(answer.stream, continuation) }
        return VisionSurface.Answer(stream: stream, metrics: answer.metrics)
      }
    },
    vision("vlm-cancel-latches", "A cancel stays in force until an answer has met it (#654).", breaks: ["V-24", "V-28"]) {
      mutant, _ in
      let (cancel, process) = (mutant.cancel, mutant.process)
      let isPending = Box(false)
      mutant.cancel = {
        isPending.value = true
        await cancel()
      }
      mutant.process = { image, prompt, limit, options in
        if isPending.exchange(false) { throw SDKFailure(.cancelled, message: "cancelled") }
        return try await process(image, prompt, limit, options)
      }
    },
    vision(
      "vlm-one-answer-only", "The second answer fails: the state never returns to idle (60eb9175a).", breaks: ["V-29", "V-32"]
    ) { mutant, _ in
      let inner = mutant.process
      let isUsed = Box(false)
      mutant.process = { image, prompt, limit, options in
        if isUsed.value { throw SDKFailure(.other("invalidState"), message: "not idle") }
        let answer = try await inner(image, prompt, limit, options)
        isUsed.value = true
        return answer
      }
    },
    vision("vlm-streams-mixed", "A second answer at once is given the text of the first.", breaks: ["V-30"]) { mutant, engine in
      let inner = mutant.process
      mutant.process = { image, prompt, limit, options in
        guard engine.isRunning else { return try await inner(image, prompt, limit, options) }
        return VisionSurface.Answer(
          stream: AsyncThrowingStream<String, any Error> {
            $0.yield("It is")
            $0.finish()
          })
      }
    },
    vision("vlm-unload-pulls-away", "Unloading returns while the engine still works.", breaks: ["V-31"]) { mutant, engine in
      let inner = mutant.unload
      let isGone = Box(false)
      let (isLoaded, load) = (mutant.isLoaded, mutant.load)
      mutant.load = {
        isGone.value = false
        try await load($0)
      }
      mutant.unload = {
        guard engine.isRunning else { return try await inner() }
        isGone.value = true
      }
      mutant.isLoaded = { isGone.value ? false : await isLoaded() }
    },
  ]

  private static func pump(
    _ stream: some AsyncSequence<String, any Error>, _ continuation: AsyncThrowingStream<String, any Error>.Continuation
  ) async {
    do {
      for try await piece in stream { continuation.yield(piece) }
      continuation.finish()
    } catch {
      continuation.finish(throwing: error)
    }
  }
}

/// A stream that holds pieces back: loses the last ones, or swaps neighbours.
private struct Held: AsyncSequence, Sendable {
  let base: any AsyncSequence<String, any Error> & Sendable
  let lost: Int
  let isSwapped: Bool

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<String, any Error>
    let lost: Int
    let isSwapped: Bool
    var held: [String] = []
    var isOver = false

    mutating func next() async throws -> String? {
      while !isOver, held.count < 2 {
        if let piece = try await base.next(isolation: nil) { held.append(piece) } else { isOver = true }
      }
      if isOver, held.count <= lost { return nil }
      if held.isEmpty { return nil }
      if isSwapped, held.count == 2 { return held.remove(at: 1) }
      return held.removeFirst()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator(), lost: lost, isSwapped: isSwapped) }
}

/// A stream that says one more thing after its end.
private struct Reviving: AsyncSequence, Sendable {
  let base: any AsyncSequence<String, any Error> & Sendable

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<String, any Error>
    var ends = 0

    mutating func next() async throws -> String? {
      if ends == 0, let piece = try await base.next(isolation: nil) { return piece }
      ends += 1
      return ends == 2 ? "and" : nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}
