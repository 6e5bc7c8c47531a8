import Checkpoints
import Foundation
import GenBackend
import Measurement
import Running
import Synchronization

/// What `complete` and `describe` have in common: how tokens are chosen, and how the answer is shown.
struct TextOptions: Sendable {
  static let sampling: [CommandOption] = [
    .value("max-tokens", "n", "The most tokens of the answer.", default: "128", section: "SAMPLING"),
    .value("temperature", "x", "Divides the logits; 0 takes the likeliest token always.", default: "0", section: "SAMPLING"),
    .value("top-k", "n", "Keeps the n likeliest tokens; 0 keeps all.", default: "0", section: "SAMPLING"),
    .value("top-p", "x", "Keeps the likeliest tokens up to this probability.", default: "1", section: "SAMPLING"),
    .value("min-p", "x", "Drops tokens below this share of the likeliest.", default: "0", section: "SAMPLING"),
    .value("repetition-penalty", "x", "Weakens tokens that occurred; 1 is off.", default: "1", section: "SAMPLING"),
    .value("seed", "n", "Seed of the draws.", default: "0", section: "SAMPLING"),
  ]

  let maxTokens: Int
  let sampling: TextRequest.Sampling
  let backend: BackendSpecification
  let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    maxTokens = try values.int("max-tokens", in: 1...1_000_000) ?? 128
    sampling = TextRequest.Sampling(
      temperature: try values.double("temperature", in: 0...100) ?? 0, topK: try values.int("top-k", in: 0...1_000_000) ?? 0,
      topP: try values.double("top-p", in: 0...1) ?? 1, minP: try values.double("min-p", in: 0...1) ?? 0,
      repetitionPenalty: try values.double("repetition-penalty", in: 0.01...100) ?? 1, seed: try values.seed("seed") ?? 0)
    backend = try BackendSpecification(values)
    isJSON = values.flag("json") ?? false
  }

  /// Loads the model, streams the answer to stdout (or prints it as JSON), unloads.
  func run(_ load: LoadRequest, request: TextRequest, _ context: CommandContext) async throws -> ProgramExit {
    let engine = try await context.makeBackend(backend)
    let console = context.console
    let streams = !isJSON
    let streamed = Mutex("")
    let recorder = RequestRecorder { event in
      switch event {
      case .token(_, let text, _) where streams && !text.isEmpty:
        streamed.withLock { $0 += text }
        console.printRaw(text)
      case .warning(let text): console.warn(text)
      default: break
      }
    }
    let control = recorder.control(context.cancellation)
    let info = try await engine.load(load, control: control)
    var request = request
    request.model = info.id
    request.maxTokens = maxTokens
    request.sampling = sampling
    let result: TextResult
    do {
      result = try await engine.generateText(request, control: control)
    } catch {
      if streamed.withLock({ !$0.isEmpty }) { console.printRaw("\n") }
      await engine.unload(info.id)
      throw error
    }
    recorder.finish()
    await engine.unload(info.id)
    if isJSON {
      console.print(Self.json(result, recorder.budget).text())
    } else {
      // A character that the end cut in two comes only with the whole text.
      let shown = streamed.withLock { $0 }
      console.printRaw(String(result.text.unicodeScalars.dropFirst(shown.unicodeScalars.count)) + "\n")
      console.say(Self.summary(result))
    }
    return .success
  }

  private static func json(_ result: TextResult, _ budget: TimeBudget) -> JSONValue {
    // Loading included, as for images.
    var timings = budget.stagesNs.mapValues { JSONValue.integer(Int(clamping: $0)) }
    timings["total"] = .integer(Int(clamping: budget.totalNs))
    timings["unaccounted"] = .integer(Int(clamping: budget.unaccountedNs))
    return .object([
      "text": .string(result.text), "ids": .array(result.ids.map { .integer($0) }),
      "prompt_ids": .array(result.promptIDs.map { .integer($0) }), "finish_reason": .string(result.finishReason.rawValue),
      "timings_ns": .object(timings), "ttft_ns": .integer(Int(clamping: result.timeToFirstTokenNs)),
      "total_ns": .integer(Int(clamping: result.totalNs)),
      "decode_tokens_per_s": result.decodeTokensPerSecond.map { .number($0) } ?? .null,
      "prefill_tokens_per_s": result.prefillTokensPerSecond.map { .number($0) } ?? .null,
    ])
  }

  private static func summary(_ result: TextResult) -> String {
    func rate(_ value: Double?) -> String { value.map { String(format: "%.1f tokens/s", $0) } ?? "no rate" }
    let milliseconds = String(format: "%.0f", Double(result.timeToFirstTokenNs) / 1e6)
    return "\(result.promptIDs.count) prompt tokens (\(rate(result.prefillTokensPerSecond))), \(result.ids.count) new "
      + "(\(rate(result.decodeTokensPerSecond))), first after \(milliseconds) ms, finish: \(result.finishReason.rawValue)"
  }
}
