import Foundation

/// What may be asked and what may be answered: nothing is clamped, nothing is exposed as it comes.
enum TSAIImageGenerationRules {
  /// Longest side of an image that can be asked for, in pixels.
  static let largestSide = 16384

  /// Turns a call into a request, or refuses it.
  static func request(
    taskId: String, prompt: String, config: TSAIImageGenerationConfig, limit: Int, snapshot: [TSAIImageGenerationStyle]?,
    appLanguage: TSAILanguage
  ) throws(TSAIError) -> TSAIImageGenerationRequest {
    guard prompt.contains(where: { !$0.isWhitespace }) else { throw invalid("prompt: expected some text, found none") }
    guard (1...limit).contains(config.imageCount) else {
      throw invalid("imageCount: expected 1...\(limit), found \(config.imageCount)")
    }
    guard let width = pixels(config.imageSize.width), let height = pixels(config.imageSize.height) else {
      throw invalid(
        "imageSize: expected whole numbers of pixels in 1...\(largestSide), found \(config.imageSize.width) x \(config.imageSize.height)"
      )
    }
    guard config.language != .auto else { throw invalid("language: the language of a prompt isn't detected; name it") }
    let style = config.styleIdentifier.flatMap { $0.isEmpty ? nil : $0 }
    if let style {
      guard let snapshot else { throw invalid("styleIdentifier: no styles are known; fetch them first, or leave it out") }
      guard snapshot.contains(where: { $0.styleIdentifier == style }) else {
        throw invalid(
          "styleIdentifier: expected one of \(snapshot.map(\.styleIdentifier).joined(separator: ", ")), found '\(style)'")
      }
    }
    return TSAIImageGenerationRequest(
      taskId: taskId, prompt: prompt, styleIdentifier: style, imageCount: config.imageCount, width: width, height: height,
      language: config.language == .unknown ? appLanguage : config.language)
  }

  private static func pixels(_ side: CGFloat) -> Int? {
    // NaN and infinities are no integers.
    Int(exactly: Double(side)).flatMap { (1...largestSide).contains($0) ? $0 : nil }
  }

  private static func invalid(_ message: String) -> TSAIError { TSAIError(.invalidParameter, message) }

  /// What of a provider's answer is handed on.
  static func accepted(_ answer: Result<TSAIImageGenerationResult, any Error>, request: TSAIImageGenerationRequest)
    -> Result<TSAIImageGenerationResult, TSAIError>
  {
    switch answer {
    case .failure(let error): return .failure(TSAIError(ofProvider: error))
    case .success(let result):
      guard result.taskId == request.taskId else {
        return .failure(TSAIError(.invalidResponse, "expected the result of task \(request.taskId), found '\(result.taskId)'"))
      }
      guard !result.images.isEmpty else {
        return .failure(TSAIError(.invalidResponse, "expected 1...\(request.imageCount) images, found none"))
      }
      return .success(
        TSAIImageGenerationResult(taskId: result.taskId, images: Array(result.images.prefix(request.imageCount))))
    }
  }

  /// What of a provider's styles becomes the snapshot.
  static func accepted(_ answer: Result<[TSAIImageGenerationStyle], any Error>) -> Result<[TSAIImageGenerationStyle], TSAIError> {
    switch answer {
    case .failure(let error): return .failure(TSAIError(ofProvider: error))
    case .success(let styles):
      let identifiers = styles.map(\.styleIdentifier)
      guard Set(identifiers).count == styles.count, !identifiers.contains("") else {
        return .failure(
          TSAIError(
            .invalidResponse, "expected styles with identifiers of their own, found '\(identifiers.joined(separator: "', '"))'"))
      }
      return .success(styles)
    }
  }
}
