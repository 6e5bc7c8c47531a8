import GenBackend
import Tensors
import VisionLanguageModels

extension TokenSampler.Settings {
  /// The engine's form of a request's settings.
  init(_ sampling: TextRequest.Sampling) {
    self.init(
      temperature: sampling.temperature, topK: sampling.topK, topP: sampling.topP, minP: sampling.minP,
      repetitionPenalty: sampling.repetitionPenalty, seed: sampling.seed)
  }
}

/// Refuses requests that contradict themselves or the model, before any work: never clamps, never ignores.
struct TextRequestValidator {
  let info: ModelInfo

  func validate(_ request: TextRequest) throws(BackendError) {
    guard request.maxTokens >= 1 else {
      throw BackendError(.invalidInput, "max tokens: expected at least 1, found \(request.maxTokens)")
    }
    if let problem = TokenSampler.Settings(request.sampling).problem { throw BackendError(.invalidInput, problem) }
    guard request.turns.isEmpty || !request.isRaw else {
      throw BackendError(.invalidInput, "a raw prompt is taken as it is; write the earlier turns into it")
    }
    guard !request.turns.dropFirst().contains(where: { $0.role == .system }) else {
      throw BackendError(.invalidInput, "the system speaks first or not at all, found it later among the turns")
    }
    guard let image = request.image else { return }
    guard info.capabilities.contains(.imageUnderstanding) else { throw missingProjector }
    guard image.width > 0, image.height > 0 else {
      throw BackendError(.invalidInput, "image: expected at least 1x1 pixels, found \(image.width)x\(image.height)")
    }
  }

  /// An image for a model that has no eyes.
  var missingProjector: BackendError {
    BackendError(.invalidInput, "an image was given, but the model is loaded without a projector; load it with its mmproj file")
  }

  /// Refuses a prompt that leaves no room for an answer.
  func validate(promptTokens count: Int) throws(BackendError) {
    guard count > 0 else { throw BackendError(.invalidInput, "the prompt is empty; give at least one token") }
    guard let context = info.contextLength, count >= context else { return }
    throw BackendError(
      .invalidInput,
      "the prompt has \(count) tokens, the model's context holds \(context), the answer included; shorten the prompt")
  }
}
